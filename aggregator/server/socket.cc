#include "aggregator/server/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "core/runtime/descriptor.h"
#include "core/wire/peer_address.h"

namespace tributary::server {
namespace {

// The kernel only appends to tcp_info; glibc's structure ends before this field of Linux 4.1.
struct TcpInfo {
  std::array<std::byte, 120> known;
  std::uint64_t bytes_acked;  // what the peer has acknowledged
  std::uint64_t bytes_received;
};

// By the descriptor, whosever it is. Nothing: a unix socket, or closed.
std::optional<TcpInfo> InfoOf(int fd) {
  TcpInfo info{};
  socklen_t bytes = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return std::nullopt;
  return info;
}

}  // namespace

std::uint64_t InodeOf(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

std::string PeerOfSocket(int fd) {
  sockaddr_storage name{};
  socklen_t bytes = sizeof(name);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&name), &bytes) != 0) return "";
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (name.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(name);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return fmt::format("{}:{}", text.data(), ntohs(v4.sin_port));
  }
  if (name.ss_family != AF_INET6) return fmt::format("{}:{}", wire::kUnixAddress, InodeOf(fd));
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(name);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    inet_ntop(AF_INET, v6.sin6_addr.s6_addr + 12, text.data(), text.size());
  } else {
    inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return fmt::format("{}:{}", text.data(), ntohs(v6.sin6_port));
}

bool PeerHasClosed(int fd) {
  tcp_info info{};
  socklen_t bytes = sizeof(info);
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 && info.tcpi_state != TCP_ESTABLISHED;
}

bool WasCut(int fd) {
  tcp_info info{};
  socklen_t bytes = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return false;
  return info.tcpi_state == TCP_FIN_WAIT1 || info.tcpi_state == TCP_FIN_WAIT2 ||
         info.tcpi_state == TCP_CLOSING || info.tcpi_state == TCP_LAST_ACK;
}

bool IsTcp(int fd) {
  int domain = 0;
  socklen_t bytes = sizeof(domain);
  return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 &&
         (domain == AF_INET || domain == AF_INET6);
}

bool HasBytes(int fd) {
  int unread = 0;
  return ioctl(fd, SIOCINQ, &unread) == 0 && unread > 0;
}

bool CauseAnEvent(int fd) {
  const int one = 1;
  return setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one)) == 0;
}

bool IsOpen(Socket socket) { return InodeOf(socket.fd) == socket.inode; }

std::uint64_t Received(Socket socket) {
  const std::optional<TcpInfo> info = InfoOf(socket.fd);
  return info && IsOpen(socket) ? info->bytes_received : 0;
}

std::uint64_t Unread(Socket socket) {
  int unread = 0;
  if (ioctl(socket.fd, SIOCINQ, &unread) != 0 || !IsOpen(socket)) return 0;
  return static_cast<std::uint64_t>(std::max(unread, 0));
}

std::uint64_t Unexplained(Socket socket) {
  constexpr std::uint64_t kSentPerAnswer = 128;
  const std::optional<TcpInfo> info = InfoOf(socket.fd);
  if (!info || !IsOpen(socket)) return 0;
  const std::uint64_t explained = info->bytes_acked / kSentPerAnswer + Unread(socket);
  return info->bytes_received - std::min(explained, info->bytes_received);
}

std::string Cut(Socket socket) {
  // A copy cannot be closed by another thread between the check and the cut.
  const runtime::Descriptor copy(fcntl(socket.fd, F_DUPFD_CLOEXEC, 0));
  if (!copy.open() || InodeOf(copy.get()) != socket.inode) return "";
  tcp_info info{};
  socklen_t bytes = sizeof(info);
  const bool open =
      getsockopt(copy.get(), IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 && info.tcpi_state == TCP_ESTABLISHED;
  std::string peer = open ? PeerOfSocket(copy.get()) : "";
  shutdown(copy.get(), SHUT_RDWR);
  while (recv(copy.get(), nullptr, std::size_t{1} << 30, MSG_TRUNC | MSG_DONTWAIT) > 0) {
  }
  return peer;
}

}  // namespace tributary::server
