#include "aggregator/server/listeners.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "core/runtime/address.h"
#include "core/status/macros.h"

namespace tributary::server {
namespace {

// A peer that acknowledges nothing for so long is gone; the same as the keepalive.
constexpr int kUserTimeoutMs = 5'000;

absl::Status CannotListen(const std::string& address, int error) {
  return absl::UnavailableError(
      fmt::format("{}: cannot listen there: {}", address, runtime::WhyNotListen(error)));
}

void SetOption(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof(value));
}

absl::StatusOr<runtime::Descriptor> Bind(const std::string& address, const sockaddr* to, socklen_t bytes,
                                         bool both_families) {
  runtime::Descriptor fd(socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.open()) return CannotListen(address, errno);
  SetOption(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (to->sa_family != AF_UNIX) {
    // Accepted sockets inherit both.
    SetOption(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    SetOption(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
  }
  if (to->sa_family == AF_INET6) SetOption(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, both_families ? 0 : 1);
  if (bind(fd.get(), to, bytes) != 0 || listen(fd.get(), SOMAXCONN) != 0) return CannotListen(address, errno);
  return fd;
}

// All interfaces, in both families if the machine has both: as gRPC's own listener does.
absl::StatusOr<std::vector<runtime::Descriptor>> BindEverywhere(const std::string& address,
                                                                std::uint16_t port) {
  std::vector<runtime::Descriptor> bound;
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  if (auto fd = Bind(address, reinterpret_cast<const sockaddr*>(&v6), sizeof(v6), true); fd.ok()) {
    bound.push_back(*std::move(fd));
    return bound;
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  ASSIGN_OR_RETURN(runtime::Descriptor fd,
                   Bind(address, reinterpret_cast<const sockaddr*>(&v4), sizeof(v4), false));
  bound.push_back(std::move(fd));
  return bound;
}

// Every address of the host.
absl::StatusOr<std::vector<runtime::Descriptor>> BindHost(const std::string& address,
                                                          const runtime::HostPort& to) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(fmt::format("{}: cannot listen there: {}", address, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  std::vector<runtime::Descriptor> bound;
  absl::Status status;
  for (addrinfo* each = found; each != nullptr; each = each->ai_next) {
    // With port 0 the first address chooses it.
    if (to.port == 0 && !bound.empty()) {
      const std::uint16_t port = htons(static_cast<std::uint16_t>(PortOf(bound.front().get())));
      if (each->ai_family == AF_INET) reinterpret_cast<sockaddr_in*>(each->ai_addr)->sin_port = port;
      if (each->ai_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(each->ai_addr)->sin6_port = port;
    }
    auto fd = Bind(address, each->ai_addr, each->ai_addrlen, false);
    if (fd.ok()) {
      bound.push_back(*std::move(fd));
    } else {
      status.Update(fd.status());
    }
  }
  if (bound.empty()) return status;
  return bound;
}

// Only a connect tells a live socket from one that a killed process left behind.
bool IsLeftBehind(const sockaddr_un& name) {
  const runtime::Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return fd.open() && connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0 &&
         errno == ECONNREFUSED;
}

absl::StatusOr<runtime::Descriptor> BindUnix(const std::string& address, const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  struct stat present {};
  if (stat(path.c_str(), &present) == 0) {
    if (!S_ISSOCK(present.st_mode)) {
      return absl::UnavailableError(fmt::format(
          "{}: cannot listen there: what has this path is no socket; remove it or name another path",
          address));
    }
    if (!IsLeftBehind(name)) {
      return absl::UnavailableError(fmt::format(
          "{}: cannot listen there: another process listens there; stop it or name another path", address));
    }
    unlink(path.c_str());
  }
  return Bind(address, reinterpret_cast<const sockaddr*>(&name), sizeof(name), false);
}

}  // namespace

SocketFile::SocketFile(const std::string& address) : path_(runtime::UnixPathOf(address)) {
  struct stat present {};
  if (path_.empty() || stat(path_.c_str(), &present) != 0) return;
  device_ = present.st_dev;
  number_ = present.st_ino;
}

void SocketFile::Remove() {
  struct stat present {};
  if (!path_.empty() && stat(path_.c_str(), &present) == 0 && present.st_dev == device_ &&
      present.st_ino == number_) {
    unlink(path_.c_str());
  }
  path_.clear();
}

int PortOf(int fd) {
  sockaddr_storage name{};
  socklen_t bytes = sizeof(name);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&name), &bytes) != 0) return 0;
  if (name.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
  if (name.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(name).sin6_port);
  return 0;
}

absl::StatusOr<std::vector<runtime::Descriptor>> BindListeners(const std::string& address) {
  if (const std::string path = runtime::UnixPathOf(address); !path.empty()) {
    std::vector<runtime::Descriptor> bound;
    ASSIGN_OR_RETURN(runtime::Descriptor fd, BindUnix(address, path));
    bound.push_back(std::move(fd));
    return bound;
  }
  ASSIGN_OR_RETURN(const runtime::HostPort to, runtime::ParseHostPort(address));
  const bool everywhere = to.host == "0.0.0.0" || to.host == "::";
  return everywhere ? BindEverywhere(address, to.port) : BindHost(address, to);
}

}  // namespace tributary::server
