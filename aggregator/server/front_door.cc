#include "aggregator/server/front_door.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <utility>

#include "aggregator/server/listeners.h"
#include "core/runtime/printable.h"
#include "core/runtime/thread_rank.h"
#include "core/status/macros.h"
#include "core/wire/peer_address.h"

namespace tributary::server {
namespace {

constexpr std::int64_t kSweepNs = 1'000'000'000;
// Between two looks at what was sent since something was heard.
constexpr std::int64_t kUnheardLookNs = 250'000'000;
// Between two looks at silent connections and at the memory: a header in frames of a few bytes costs
// gRPC 1.51 the square of its length (CVE-2023-33953), and a flood of calls makes it take some 60 MiB.
constexpr int kLookMs = 20;
// Between two looks for connections that stall, while the process uses a quarter of a processor or more.
constexpr int kBusyLookMs = 5;
constexpr int kBusyShare = 4;
// A thread that uses less of a processor waits for something.
constexpr int kHeldShare = 8;
// A flood from an address that stays out is not turned away as fast as it comes: after so many in one go all
// who come wait for some milliseconds, and the panels have the processor. A full backlog of 4,096 then takes
// a second or two.
constexpr int kTurnedAway = 16;
constexpr int kPauseMs = 5;
// When all places are taken, closed connections are looked for this often at most.
constexpr std::int64_t kBusySweepNs = 10'000'000;
// Descriptors for all but the gRPC port: HTTP (64 connections and as many that are refused), the store's
// files, uploads, models, gRPC's own.
constexpr std::size_t kOtherDescriptors = 512;
constexpr std::size_t kFewestConnections = 16;
constexpr int kDescriptorWaits = 20;  // of a millisecond each

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

bool IsOpen(Socket socket) { return InodeOf(socket.fd) == socket.inode; }

// A handshake with its certificates and the first call's headers are some ten kilobytes.
constexpr std::uint64_t kMostBeforeACall = 64 << 10;

// The kernel only appends to tcp_info; glibc's structure ends before this field of Linux 4.1.
struct TcpInfo {
  std::array<std::byte, 120> known;
  std::uint64_t bytes_acked;  // what the peer has acknowledged
  std::uint64_t bytes_received;
};

// By the descriptor, whosever it is. 0: a unix socket, or closed.
std::uint64_t Received(Socket socket) {
  TcpInfo info{};
  socklen_t bytes = sizeof(info);
  return getsockopt(socket.fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 ? info.bytes_received : 0;
}

// Bytes that gRPC has taken from the socket, but for those that answer what we sent: a reader grants as much
// again in window updates, some 1/600 of it.
std::uint64_t Unexplained(Socket socket) {
  constexpr std::uint64_t kSentPerAnswer = 128;
  TcpInfo info{};
  socklen_t bytes = sizeof(info);
  int unread = 0;
  if (!IsOpen(socket) || getsockopt(socket.fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 ||
      ioctl(socket.fd, SIOCINQ, &unread) != 0) {
    return 0;
  }
  const std::uint64_t explained =
      info.bytes_acked / kSentPerAnswer + static_cast<std::uint64_t>(std::max(unread, 0));
  return info.bytes_received - std::min(explained, info.bytes_received);
}

bool SaysMoreThanAHello(Socket socket) { return Received(socket) > kMostBeforeACall && IsOpen(socket); }

// The processor's time that this process has used.
std::int64_t ProcessorNs() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000LL + used.tv_nsec;
}

// The connections that may stall those that report: they have sent more than a handshake. Uploads are not
// among them: a slow processor needs as long for an honest one.
std::vector<StallWatch::Sample> SamplesOf(const ConnectionTable& connections) {
  const std::vector<ConnectionTable::Open> all = connections.OpenConnections();
  std::vector<StallWatch::Sample> samples;
  if (std::ranges::none_of(all, &ConnectionTable::Open::reports)) return samples;
  for (const ConnectionTable::Open& each : all) {
    int unread = 0;
    if (each.reports || each.uploads || !IsOpen(each.socket) || ioctl(each.socket.fd, SIOCINQ, &unread) != 0)
      continue;
    const auto waiting = static_cast<std::uint64_t>(std::max(unread, 0));
    const std::uint64_t received = std::max(Received(each.socket), waiting);
    if (received < kMostBeforeACall) continue;
    samples.push_back({.connection = each.number, .read = received - waiting, .heard = each.heard});
  }
  return samples;
}

// Its peer; empty if that had closed it already.
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
  // gRPC would read what has come before it sees the end.
  while (recv(copy.get(), nullptr, std::size_t{1} << 30, MSG_TRUNC | MSG_DONTWAIT) > 0) {
  }
  return peer;
}

ConnectionLimits Affordable(ConnectionLimits limits) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return limits;
  const std::size_t allowed = files.rlim_cur;
  // Half of few: the process needs some two dozen itself.
  const std::size_t left = allowed > 2 * kOtherDescriptors ? allowed - kOtherDescriptors : allowed / 2;
  const std::size_t affordable = std::max(left, kFewestConnections);
  if (affordable < limits.connections) {
    spdlog::warn("ingest.max_connections: {} instead of {}, because the process may open only {} files",
                 affordable, limits.connections, allowed);
    limits.connections = affordable;
  }
  return limits;
}

runtime::Descriptor OpenReserve() { return runtime::Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

FrontDoor::FrontDoor(const ConnectionLimits& limits, MemoryWatch memory, const runtime::Clock& clock)
    : connections_(limits),
      memory_(std::move(memory)),
      clock_(clock),
      wake_(eventfd(0, EFD_CLOEXEC)),
      reserve_(OpenReserve()) {}

absl::StatusOr<std::unique_ptr<FrontDoor>> FrontDoor::Listen(const std::string& address,
                                                             ConnectionLimits limits, MemoryWatch memory,
                                                             const runtime::Clock& clock) {
  auto door = std::unique_ptr<FrontDoor>(new FrontDoor(Affordable(limits), std::move(memory), clock));
  door->unix_path_ = UnixPathOf(address);
  ASSIGN_OR_RETURN(door->listeners_, BindListeners(address));
  door->port_ = PortOf(door->listeners_.front().get());
  return door;
}

FrontDoor::~FrontDoor() { Close(); }

void FrontDoor::Open(HandOver hand_over, Progress progress) {
  hand_over_ = std::move(hand_over);
  progress_ = std::move(progress);
  thread_ = std::jthread([this](std::stop_token stop) {
    runtime::EnterThread("accept", runtime::ThreadRank::kFusion);
    Run(std::move(stop));
  });
}

void FrontDoor::Close() {
  if (thread_.joinable()) {
    thread_.request_stop();
    eventfd_write(wake_.get(), 1);
    thread_.join();
  }
  if (!listeners_.empty() && !unix_path_.empty()) unlink(unix_path_.c_str());
  listeners_.clear();
}

void FrontDoor::Run(std::stop_token stop) {
  std::vector<pollfd> waiting = {{wake_.get(), POLLIN, 0}};
  for (const runtime::Descriptor& each : listeners_) waiting.push_back({each.get(), POLLIN, 0});
  while (!stop.stop_requested()) {
    const bool pause = turned_away_ >= kTurnedAway;
    turned_away_ = 0;
    const std::size_t watched = pause ? 1 : waiting.size();
    poll(waiting.data(), watched, pause ? kPauseMs : busy_ ? kBusyLookMs : kLookMs);
    for (std::size_t i = 1; i < watched; ++i) {
      if (waiting[i].revents != 0) AcceptFrom(waiting[i].fd);
    }
    SweepIfDue(kSweepNs);
    const std::int64_t now_ns = clock_.SteadyNs();
    if (now_ns - unheard_looked_ns_ >= kUnheardLookNs) CutUnheard(now_ns);
    if (now_ns - stalls_looked_ns_ >= kBusyLookMs * 1'000'000LL) CutStalling(now_ns);
    if (now_ns - looked_ns_ < kLookMs * 1'000'000LL) continue;
    looked_ns_ = now_ns;
    CutSilentTalkers();
    WatchMemory(now_ns);
  }
}

void FrontDoor::CutSilentTalkers() {
  for (const Socket& talker : connections_.TakeTalkers(SaysMoreThanAHello)) {
    CutAndQuarantine(connections_, talker);
  }
}

void FrontDoor::CutStalling(std::int64_t now_ns) {
  const std::int64_t used_ns = ProcessorNs();
  const std::chrono::nanoseconds used(used_ns - std::exchange(used_ns_, used_ns));
  const std::chrono::nanoseconds past(now_ns - std::exchange(stalls_looked_ns_, now_ns));
  busy_ = used >= past / kBusyShare;
  const std::optional<std::chrono::nanoseconds> held = Held();
  if (!held) return stalls_.Forget();
  if (*held < past / kHeldShare) return;  // it waits
  for (const Socket& each : connections_.TakeStalling(stalls_.Look(SamplesOf(connections_), *held))) {
    CutAndQuarantine(connections_, each);
  }
}

std::optional<std::chrono::nanoseconds> FrontDoor::Held() {
  const std::vector<ThreadProgress> seen = std::exchange(seen_progress_, progress_());
  std::optional<std::chrono::nanoseconds> held;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].events != seen_progress_[i].events || !seen[i].in_grpc()) continue;
    const std::chrono::nanoseconds used(seen_progress_[i].used_ns - seen[i].used_ns);
    held = std::max(held.value_or(used), used);
  }
  return held;
}

void FrontDoor::CutUnheard(std::int64_t now_ns) {
  unheard_looked_ns_ = now_ns;
  for (const Socket& each : connections_.TakeUnheard(Unexplained)) CutAndQuarantine(connections_, each);
}

void FrontDoor::WatchMemory(std::int64_t now_ns) {
  memory_state_ = memory_.Look();
  if (memory_state_ == MemoryState::kPlenty) return;
  connections_.NoteSent([](Socket socket) { return IsOpen(socket) ? Received(socket) : 0; });
  // What was cut needs its time to go: nobody else pays for it meanwhile.
  if (memory_state_ != MemoryState::kOut) return;
  const std::vector<Socket> greediest = connections_.TakeGreediest();
  for (const Socket& each : greediest) CutAndQuarantine(connections_, each);
  if (const auto more = lines_.Admit(now_ns)) {
    spdlog::error("memory has nearly run out: {} cut{}", runtime::Counted(greediest.size(), "connection"),
                  *more);
  }
}

void FrontDoor::AcceptFrom(int listener) {
  // Some at a time, so that a crowd does not keep this thread from its other work.
  for (int i = 0; i < 64 && turned_away_ < kTurnedAway; ++i) {
    if (!AcceptOne(listener)) return;
  }
}

bool FrontDoor::AcceptOne(int listener) {
  const auto accept = [listener] {
    return runtime::Descriptor(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  };
  runtime::Descriptor connection = accept();
  // gRPC closes the connections that were cut after some milliseconds. Whoever comes meanwhile waits.
  for (int i = 0; i < kDescriptorWaits && !connection.open() && errno == EMFILE; ++i) {
    poll(nullptr, 0, 1);
    connection = accept();
  }
  if (connection.open()) {
    Take(std::move(connection));
    return true;
  }
  if (errno != EMFILE && errno != ENFILE) return errno == ECONNABORTED || errno == EINTR;
  // The connection would wait, and wake this thread, until a descriptor is free: close it with the reserve.
  reserve_.Close();
  runtime::Descriptor refused(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  const bool came = refused.open();
  if (came) SayRefused(ConnectionFault::kNoDescriptor, PeerOfSocket(refused.get()));
  refused.Close();
  reserve_ = OpenReserve();
  return came;
}

void FrontDoor::Take(runtime::Descriptor connection) {
  const std::string peer = PeerOfSocket(connection.get());
  if (peer.empty()) return;  // gone already
  if (connections_.IsQuarantined(peer, Second())) {
    ++turned_away_;
    return SayRefused(ConnectionFault::kQuarantined, peer);
  }
  if (memory_state_ >= MemoryState::kFull) return SayRefused(ConnectionFault::kMemory, peer);
  std::optional<ConnectionFault> fault = connections_.Refuses(peer);
  if (fault) {
    SweepIfDue(kBusySweepNs);
    fault = connections_.Refuses(peer);
  }
  if (fault) return SayRefused(*fault, peer);
  const int fd = connection.Release();
  const std::optional<Socket> cut = connections_.Add(peer, {fd, InodeOf(fd)}, Second());
  hand_over_(fd);
  if (cut) Cut(*cut);
}

bool FrontDoor::SweepIfDue(std::int64_t interval_ns) {
  const std::int64_t now_ns = clock_.SteadyNs();
  if (now_ns - swept_ns_ < interval_ns) return false;
  swept_ns_ = now_ns;
  connections_.Sweep(IsOpen);
  return true;
}

void FrontDoor::SayRefused(ConnectionFault fault, const std::string& peer) {
  connections_.Count(fault);
  const auto more = lines_.Admit(clock_.SteadyNs());
  if (!more) return;
  spdlog::warn("connection from {} refused: {}{}", peer, ConnectionFaultName(fault), *more);
}

void FrontDoor::CutAndQuarantine(ConnectionTable& connections, const Socket& socket) {
  // A peer that has ended with all its streams may start again at once.
  const std::string peer = Cut(socket);
  if (!peer.empty()) connections.Quarantine(peer, Second());
}

std::int64_t FrontDoor::Second() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now());
  return now.time_since_epoch().count();
}

}  // namespace tributary::server
