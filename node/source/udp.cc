#include "node/source/udp.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tributary {
namespace {

constexpr int kReceiveBufferBytes = 4 << 20;

absl::Status SystemError(const std::string& what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// Numeric address only: a name could mean another machine tomorrow.
absl::StatusOr<std::unique_ptr<addrinfo, void (*)(addrinfo*)>> Resolve(const std::string& address,
                                                                       std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0 || found == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("\"", address, "\" is not a numeric IP address"));
  }
  return std::unique_ptr<addrinfo, void (*)(addrinfo*)>(found, freeaddrinfo);
}

std::string NumericAddress(const sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (getnameinfo(generic, length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return host.data();
}

}  // namespace

absl::StatusOr<std::unique_ptr<UdpSource>> UdpSource::Create(const UdpSourceOptions& options,
                                                             const Clock& clock) {
  if (options.assembler.width == 0 || options.assembler.max_subjects == 0) {
    return absl::InvalidArgumentError("width and max_subjects are at least 1");
  }
  if (!options.front_end.empty()) {
    if (const auto resolved = Resolve(options.front_end, 0); !resolved.ok()) return resolved.status();
  }
  std::unique_ptr<UdpSource> source(new UdpSource(options, clock));
  if (absl::Status status = source->Open(); !status.ok()) return status;
  return source;
}

UdpSource::UdpSource(const UdpSourceOptions& options, const Clock& clock)
    : options_(options), clock_(clock), assembler_(options.assembler), datagram_(kMaxUdpDatagramBytes + 1) {}

UdpSource::~UdpSource() {
  if (socket_ >= 0) close(socket_);
  if (wake_ >= 0) close(wake_);
}

absl::Status UdpSource::Open() {
  const auto resolved = Resolve(options_.address, options_.port);
  if (!resolved.ok()) return resolved.status();
  const addrinfo& address = **resolved;
  socket_ = socket(address.ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return SystemError("udp socket");
  // The kernel may grant less; losses are counted wherever they happen.
  setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes, sizeof(kReceiveBufferBytes));
  if (bind(socket_, address.ai_addr, address.ai_addrlen) != 0) {
    return SystemError(absl::StrCat("udp ", options_.address, " port ", options_.port));
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return SystemError("udp port");
  port_ = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                            : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return wake_ < 0 ? SystemError("eventfd") : absl::OkStatus();
}

absl::Status UdpSource::Next(std::stop_token stop, SensorFrame& frame) {
  const std::stop_callback wake(stop, [this] { eventfd_write(wake_, 1); });
  for (;;) {
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    if (assembler_.Take(frame)) return absl::OkStatus();
    std::array<pollfd, 2> waiting = {pollfd{socket_, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return SystemError("udp poll");
    if (absl::Status status = Receive(); !status.ok()) return status;
  }
}

absl::Status UdpSource::Receive() {
  while (!assembler_.ready()) {
    sockaddr_storage sender{};
    socklen_t length = sizeof(sender);
    const ssize_t size = recvfrom(socket_, datagram_.data(), datagram_.size(), 0,
                                  reinterpret_cast<sockaddr*>(&sender), &length);
    if (size < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return absl::OkStatus();
      if (errno == ECONNREFUSED) continue;  // an ICMP message about something this socket never sent
      return SystemError("udp receive");
    }
    if (!options_.front_end.empty() && NumericAddress(sender, length) != options_.front_end) {
      ++strangers_;
      continue;
    }
    assembler_.Add(std::span(datagram_).first(static_cast<std::size_t>(size)), clock_.UnixNs());
  }
  return absl::OkStatus();
}

}  // namespace tributary
