#include "node/source/udp.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/udp.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/runtime/descriptor.h"
#include "core/runtime/log.h"
#include "core/status/macros.h"
#include "node/source/udp_account.h"

namespace tributary::source {
namespace {

using Endpoint = boost::asio::ip::udp::endpoint;

constexpr int kReceiveBufferBytes = 4 << 20;
constexpr int kDatagramsAtATime = 256;

absl::Status SystemError(const std::string& what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// Numeric address only: a name could mean another machine tomorrow.
absl::StatusOr<Endpoint> EndpointOf(const std::string& address, std::uint16_t port) {
  boost::system::error_code error;
  const auto numeric = boost::asio::ip::make_address(address, error);
  if (!error) return Endpoint(numeric, port);
  return absl::InvalidArgumentError(absl::StrCat("\"", address, "\" is not a numeric IP address"));
}

// Owns the socket and the assembler. One thread.
class UdpSource final : public Source {
 public:
  UdpSource(const UdpSourceOptions& options, const runtime::Clock& clock)
      : options_(options),
        clock_(clock),
        assembler_(options.assembler),
        datagram_(kMaxUdpDatagramBytes + 1) {}
  ~UdpSource() override;
  UdpSource(const UdpSource&) = delete;
  UdpSource& operator=(const UdpSource&) = delete;

  absl::Status Open();
  absl::Status Next(std::stop_token stop, SensorFrame& frame) override;
  std::uint64_t missed_frames() const override { return account_->counters().lost_slots; }
  std::shared_ptr<const UdpAccount> udp_account() const override { return account_; }

 private:
  // Reads what has arrived, until a frame is ready.
  absl::Status Receive();
  void Take(std::span<const std::byte> datagram, const Endpoint& sender);
  void CountKernelDrops(const msghdr& message);
  void CountLost(const UdpCounters& lost);
  void SayWhatWasLost();
  int WaitMs() const;

  const UdpSourceOptions options_;
  const runtime::Clock& clock_;
  UdpAssembler assembler_;
  std::optional<Endpoint> front_end_;  // of its address alone; none: any sender
  runtime::Descriptor socket_{-1};
  runtime::Descriptor wake_{-1};         // an eventfd
  std::shared_ptr<UdpAccount> account_;  // from Open on
  UdpReport report_;
  std::uint32_t kernel_drops_ = 0;  // as the kernel counts them: since the socket's start, modulo 2^32
  std::vector<std::byte> datagram_;
};

UdpSource::~UdpSource() {
  if (account_ != nullptr) SayWhatWasLost();
}

absl::Status UdpSource::Open() {
  if (!options_.front_end.empty()) {
    ASSIGN_OR_RETURN(front_end_, EndpointOf(options_.front_end, 0));
  }
  ASSIGN_OR_RETURN(Endpoint local, EndpointOf(options_.address, options_.port));
  socket_ =
      runtime::Descriptor(socket(local.protocol().family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_.open()) return SystemError("udp socket");
  // The kernel may grant less; losses are counted anyway.
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes, sizeof(kReceiveBufferBytes));
  if (bind(socket_.get(), local.data(), static_cast<socklen_t>(local.size())) != 0) {
    return SystemError(absl::StrCat("udp ", options_.address, " port ", options_.port));
  }
  // The kernel then reports its drops with each datagram.
  const int on = 1;
  setsockopt(socket_.get(), SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
  auto length = static_cast<socklen_t>(local.capacity());
  if (getsockname(socket_.get(), local.data(), &length) != 0) return SystemError("udp port");
  account_ = std::make_shared<UdpAccount>(local.port());
  runtime::LogInfo("panel {}: takes datagrams on {} port {} (UDP)", options_.panel, options_.address,
                   local.port());
  wake_ = runtime::Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  return wake_.open() ? absl::OkStatus() : SystemError("eventfd");
}

absl::Status UdpSource::Next(std::stop_token stop, SensorFrame& frame) {
  const std::stop_callback wake(stop, [this] { eventfd_write(wake_.get(), 1); });
  for (;;) {
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    if (report_.due_ns() != UdpReport::kNever && clock_.SteadyNs() >= report_.due_ns()) SayWhatWasLost();
    if (assembler_.Take(frame)) return absl::OkStatus();
    std::array<pollfd, 2> waiting = {pollfd{socket_.get(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0}};
    if (poll(waiting.data(), waiting.size(), WaitMs()) < 0 && errno != EINTR) return SystemError("udp poll");
    RETURN_IF_ERROR(Receive());
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
    Endpoint sender;
    iovec space{datagram_.data(), datagram_.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint32_t))> control{};
    msghdr message{};
    message.msg_name = sender.data();
    message.msg_namelen = static_cast<socklen_t>(sender.capacity());
    message.msg_iov = &space;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = recvmsg(socket_.get(), &message, 0);
    if (size < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return absl::OkStatus();
      if (errno == ECONNREFUSED) continue;  // an ICMP message about something this socket never sent
      return SystemError("udp receive");
    }
    sender.resize(message.msg_namelen);
    CountKernelDrops(message);
    Take(std::span(datagram_).first(static_cast<std::size_t>(size)), sender);
  }
  return absl::OkStatus();
}

void UdpSource::Take(std::span<const std::byte> datagram, const Endpoint& sender) {
  account_->Add({.datagrams = 1});
  std::optional<UdpRefusal> refusal;
  if (front_end_ && sender.address() != front_end_->address()) {
    refusal = UdpRefusal{UdpFault::kSender, absl::StrCat("front_end is ", options_.front_end)};
  } else {
    refusal = assembler_.Add(datagram, clock_.UnixNs());
  }
  UdpCounters lost = assembler_.TakeLosses();
  if (refusal) {
    report_.Note(*refusal,
                 [&sender] { return absl::StrCat(sender.address().to_string(), " port ", sender.port()); });
    lost.of(refusal->fault) = 1;
  }
  if (refusal || lost.lost_subjects > 0) CountLost(lost);
}

void UdpSource::CountKernelDrops(const msghdr& message) {
  const cmsghdr* control = CMSG_FIRSTHDR(&message);
  if (control == nullptr || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SO_RXQ_OVFL) return;
  std::uint32_t drops = 0;
  std::memcpy(&drops, CMSG_DATA(control), sizeof(drops));
  if (drops == kernel_drops_) return;
  CountLost({.kernel_drops = drops - kernel_drops_});
  kernel_drops_ = drops;
}

void UdpSource::CountLost(const UdpCounters& lost) {
  account_->Add(lost);
  report_.Add(lost, clock_.SteadyNs());
}

void UdpSource::SayWhatWasLost() {
  const std::string line = report_.Take(clock_.SteadyNs());
  if (!line.empty()) runtime::LogWarning("panel {}: {}", options_.panel, line);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> CreateUdp(const UdpSourceOptions& options,
                                                  const runtime::Clock& clock) {
  if (options.assembler.width == 0 || options.assembler.max_subjects == 0) {
    return absl::InvalidArgumentError("width and max_subjects are at least 1");
  }
  auto source = std::make_unique<UdpSource>(options, clock);
  RETURN_IF_ERROR(source->Open());
  return source;
}

}  // namespace tributary::source
