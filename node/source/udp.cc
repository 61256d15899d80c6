#include "node/source/udp.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"

namespace tributary::source {
namespace {

constexpr int kReceiveBufferBytes = 4 << 20;
constexpr int kDatagramsAtATime = 256;

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

struct Peer {
  std::string address;
  std::string port;
};

// Empty if the system does not tell.
Peer NumericPeer(const void* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(static_cast<const sockaddr*>(address), length, host.data(), host.size(), port.data(),
                  port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {host.data(), port.data()};
}

}  // namespace

absl::StatusOr<std::unique_ptr<UdpSource>> UdpSource::Create(const UdpSourceOptions& options,
                                                             const runtime::Clock& clock) {
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

UdpSource::UdpSource(const UdpSourceOptions& options, const runtime::Clock& clock)
    : options_(options), clock_(clock), assembler_(options.assembler), datagram_(kMaxUdpDatagramBytes + 1) {}

UdpSource::~UdpSource() {
  if (account_ != nullptr) SayWhatWasLost();
  if (socket_ >= 0) close(socket_);
  if (wake_ >= 0) close(wake_);
}

absl::Status UdpSource::Open() {
  const auto resolved = Resolve(options_.address, options_.port);
  if (!resolved.ok()) return resolved.status();
  const addrinfo& address = **resolved;
  socket_ = socket(address.ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return SystemError("udp socket");
  // The kernel may grant less; losses are counted anyway.
  setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes, sizeof(kReceiveBufferBytes));
  if (bind(socket_, address.ai_addr, address.ai_addrlen) != 0) {
    return SystemError(absl::StrCat("udp ", options_.address, " port ", options_.port));
  }
  // The kernel then reports its drops with each datagram.
  const int on = 1;
  setsockopt(socket_, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return SystemError("udp port");
  account_ = std::make_shared<UdpAccount>(
      ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                        : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port));
  spdlog::info("panel {}: takes datagrams on {} port {} (UDP)", options_.panel, options_.address, port());
  wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return wake_ < 0 ? SystemError("eventfd") : absl::OkStatus();
}

absl::Status UdpSource::Next(std::stop_token stop, SensorFrame& frame) {
  const std::stop_callback wake(stop, [this] { eventfd_write(wake_, 1); });
  for (;;) {
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    if (report_.due_ns() != UdpReport::kNever && clock_.SteadyNs() >= report_.due_ns()) SayWhatWasLost();
    if (assembler_.Take(frame)) return absl::OkStatus();
    std::array<pollfd, 2> waiting = {pollfd{socket_, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
    if (poll(waiting.data(), waiting.size(), WaitMs()) < 0 && errno != EINTR) return SystemError("udp poll");
    if (absl::Status status = Receive(); !status.ok()) return status;
  }
}

// -1: until something arrives.
int UdpSource::WaitMs() const {
  if (report_.due_ns() == UdpReport::kNever) return -1;
  const std::int64_t left_ns = std::max<std::int64_t>(report_.due_ns() - clock_.SteadyNs(), 0);
  return static_cast<int>(left_ns / 1'000'000) + 1;
}

absl::Status UdpSource::Receive() {
  // Bounded: a flood on the port must delay neither the stop nor the log.
  for (int taken = 0; taken < kDatagramsAtATime && !assembler_.ready(); ++taken) {
    sockaddr_storage sender{};
    iovec space{datagram_.data(), datagram_.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint32_t))> control{};
    msghdr message{};
    message.msg_name = &sender;
    message.msg_namelen = sizeof(sender);
    message.msg_iov = &space;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = recvmsg(socket_, &message, 0);
    if (size < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return absl::OkStatus();
      if (errno == ECONNREFUSED) continue;  // an ICMP message about something this socket never sent
      return SystemError("udp receive");
    }
    CountKernelDrops(message);
    Take(std::span(datagram_).first(static_cast<std::size_t>(size)), message);
  }
  return absl::OkStatus();
}

void UdpSource::Take(std::span<const std::byte> datagram, const msghdr& message) {
  const auto peer = [&message] { return NumericPeer(message.msg_name, message.msg_namelen); };
  const auto sender = [&peer] {
    const Peer found = peer();
    return absl::StrCat(found.address, " port ", found.port);
  };
  account_->CountDatagram();
  const UdpLosses before = assembler_.losses();
  std::optional<UdpRefusal> refusal;
  if (!options_.front_end.empty() && peer().address != options_.front_end) {
    refusal = UdpRefusal{UdpFault::kSender, absl::StrCat("front_end is ", options_.front_end)};
  } else {
    refusal = assembler_.Add(datagram, clock_.UnixNs());
  }
  if (refusal) {
    account_->CountUnused(refusal->fault);
    report_.Note(*refusal, sender, clock_.SteadyNs());
  }
  const UdpLosses& after = assembler_.losses();
  if (after == before) return;
  account_->CountLost(after.subjects - before.subjects, after.slots - before.slots);
  report_.Begin(clock_.SteadyNs());
}

void UdpSource::CountKernelDrops(const msghdr& message) {
  const cmsghdr* control = CMSG_FIRSTHDR(&message);
  if (control == nullptr || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SO_RXQ_OVFL) return;
  std::uint32_t drops = 0;
  std::memcpy(&drops, CMSG_DATA(control), sizeof(drops));
  if (drops == kernel_drops_) return;
  account_->CountKernelDrops(drops - kernel_drops_);
  kernel_drops_ = drops;
  report_.Begin(clock_.SteadyNs());
}

void UdpSource::SayWhatWasLost() {
  const std::string line = report_.Take(account_->counters(), clock_.SteadyNs());
  if (!line.empty()) spdlog::warn("panel {}: {}", options_.panel, line);
}

}  // namespace tributary::source
