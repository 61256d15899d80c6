#include "aggregator/server/front_door.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "aggregator/server/listeners.h"
#include "core/runtime/log.h"
#include "core/runtime/thread_rank.h"
#include "core/status/macros.h"
#include "core/wire/peer_address.h"

namespace tributary::server {
namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t kSweepNs = 1'000'000'000;
// Between two looks at what was sent since something was heard.
constexpr std::int64_t kUnheardLookNs = 250'000'000;
// Between two looks at the memory: a flood of calls makes gRPC take some 60 MiB.
constexpr int kLookMs = 20;
// Between two looks for floods, while the process has used a quarter of a processor or more for a while, or
// others than panels cost as much in one look.
constexpr int kBusyLookMs = 5;
constexpr int kBusyShare = 4;
constexpr int kBusyWindowMs = 100;
// So long the door stays alert: floods come in bursts, and whoever has flooded comes back when it may, a
// minute later at the latest.
constexpr std::int64_t kAfterWorkNs = 2'000'000'000, kAfterFloodNs = 120'000'000'000;
// The patience with a connection of which no call comes is spent by the time that a thread that fuses uses of
// a processor, and by a part of the time that passes.
constexpr int kCalmShare = 5;
// A flood from an address that stays out is not turned away as fast as it comes: after those who are there,
// so many at most, all who come wait for some milliseconds, and the panels have the processor. A full backlog
// of 4,096 then takes a second or two.
constexpr int kTurnedAway = 16;
constexpr int kPauseMs = 5;
// A handshake takes a thread that fuses some 0.3 ms: so many begin in that time. A thousand boards that come
// back together, each from an address of its own, need a second.
constexpr int kLetIn = 4;
// One begins in this time of those whose address has flooded a short while ago, or seems to begin with it,
// and of all while memory is scarce. A hundred boards that come back then need a second.
constexpr int kSuspectMs = 10;
// For the first words, as for the handshake after them.
constexpr std::int64_t kFirstWordsNs = 10'000'000'000;
// When all places are taken, closed connections are looked for this often at most.
constexpr std::int64_t kBusySweepNs = 10'000'000;
// Descriptors for all but the gRPC port: HTTP (64 connections and as many that are refused), the store's
// files, uploads, models, gRPC's own.
constexpr std::size_t kOtherDescriptors = 512;
constexpr std::size_t kFewestConnections = 16;
constexpr int kDescriptorWaits = 20;  // of a millisecond each

// A handshake with its certificates and the first call's headers are some ten kilobytes.
constexpr std::uint64_t kMostBeforeACall = 64 << 10;

// Bytes that wait in the kernel, because the connection has to wait, have cost nothing.
bool SaysMoreThanAHello(Socket socket) { return Unexplained(socket) > kMostBeforeACall; }

// The processor's time that this process has used.
std::int64_t ProcessorNs() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000LL + used.tv_nsec;
}

ConnectionLimits Affordable(ConnectionLimits limits) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return limits;
  const std::size_t allowed = files.rlim_cur;
  // Half of few: the process needs some two dozen itself.
  const std::size_t left = allowed > 2 * kOtherDescriptors ? allowed - kOtherDescriptors : allowed / 2;
  const std::size_t affordable = std::max(left, kFewestConnections);
  if (affordable < limits.connections) {
    runtime::LogWarning(
        "ingest.max_connections: {} instead of {}, because the process may open only {} files", affordable,
        limits.connections, allowed);
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
      reserve_(OpenReserve()),
      log_(clock) {}

absl::StatusOr<std::unique_ptr<FrontDoor>> FrontDoor::Listen(const std::string& address,
                                                             ConnectionLimits limits, MemoryWatch memory,
                                                             const runtime::Clock& clock) {
  limits.Slow(ProcessorSlowness());
  auto door = std::unique_ptr<FrontDoor>(new FrontDoor(Affordable(limits), std::move(memory), clock));
  ASSIGN_OR_RETURN(door->listeners_, BindListeners(address));
  door->file_ = SocketFile(address);
  door->port_ = PortOf(door->listeners_.front().get());
  if (door->port_ != 0) door->filter_ = AddressFilter(door->listeners_);
  return door;
}

FrontDoor::~FrontDoor() { Close(); }

void FrontDoor::Open(HandOver hand_over, Used used) {
  hand_over_ = std::move(hand_over);
  used_ = std::move(used);
  thread_ = std::jthread([this](std::stop_token stop) {
    runtime::EnterThread("accept", runtime::ThreadRank::kFusion);
    CountReads();
    Run(std::move(stop));
  });
}

void FrontDoor::Close() {
  if (thread_.joinable()) {
    thread_.request_stop();
    eventfd_write(wake_.get(), 1);
    thread_.join();
    held_back_.End();
  }
  file_.Remove();
  listeners_.clear();
}

void FrontDoor::Run(std::stop_token stop) {
  std::vector<pollfd> waiting = {{wake_.get(), POLLIN, 0}, {room_.descriptor(), POLLIN, 0}};
  const std::size_t first_listener = waiting.size();
  for (const runtime::Descriptor& each : listeners_) waiting.push_back({each.get(), POLLIN, 0});
  while (!stop.stop_requested()) {
    const bool pause = std::exchange(turned_away_, 0) > 0;
    const std::size_t watched = pause ? first_listener : waiting.size();
    const int look_ms = alert_ ? kBusyLookMs : kLookMs;
    poll(waiting.data(), watched, pause || room_.AnybodyReady() || !suspects_.empty() ? kPauseMs : look_ms);
    for (std::size_t i = first_listener; i < watched; ++i) {
      if (waiting[i].revents != 0) AcceptFrom(waiting[i].fd);
    }
    LetIn();
    SweepIfDue(kSweepNs);
    const std::int64_t now_ns = clock_.SteadyNs();
    if (now_ns - unheard_looked_ns_ >= kUnheardLookNs) {
      unheard_looked_ns_ = now_ns;
      CutUnheard();
    }
    if (now_ns - floods_looked_ns_ >= kBusyLookMs * 1'000'000LL) CutFloods(now_ns);
    if (now_ns - memory_looked_ns_ >= kLookMs * 1'000'000LL) {
      WatchMemory(now_ns);
      TurnAway();
    }
    executor_.Look();
  }
}

void FrontDoor::LetIn() {
  room_.Listen();
  const std::int64_t now_ns = clock_.SteadyNs();
  if (now_ns - let_in_ns_ >= kPauseMs * 1'000'000LL) {
    let_in_ns_ = now_ns;
    let_in_ = 0;
    for (const auto& [address, gone] : suspects_.ForgetGone()) {
      connections_.NoteGaveUp(address, gone, Second());
      log_.GaveUp(gone);
    }
  }
  while (let_in_ < kLetIn) {
    runtime::Descriptor connection(room_.Next());
    if (!connection.open()) break;
    const std::string peer = PeerOfSocket(connection.get());
    if (memory_state_ != MemoryState::kPlenty || connections_.IsSuspect(peer, Second())) {
      suspects_.Enter(wire::AddressOf(peer), std::move(connection));
    } else {
      ++let_in_;
      PassOn(std::move(connection));
    }
  }
  if (suspects_.empty() || now_ns - suspect_let_in_ns_ < kSuspectMs * 1'000'000LL) return;
  suspect_let_in_ns_ = now_ns;
  runtime::Descriptor next =
      suspects_.Next([this](const std::string& address) { return connections_.MayBegin(address, Second()); });
  if (next.open()) PassOn(std::move(next));
}

void FrontDoor::PassOn(runtime::Descriptor connection) {
  // It may have been cut while it waited, or another connection of its address.
  const std::string peer = PeerOfSocket(connection.get());
  if (peer.empty() || PeerHasClosed(connection.get())) return;
  if (connections_.IsQuarantined(peer, Second())) {
    Refuse(ConnectionFault::kQuarantined, peer);
  } else {
    GiveToGrpc(std::move(connection));
  }
}

void FrontDoor::GiveToGrpc(runtime::Descriptor connection) {
  connections_.NoteBegun(PeerOfSocket(connection.get()), Second());
  // It begins to read at once, on this thread.
  hand_over_(connection.Release());
  EndRead();
}

bool FrontDoor::IsAlert(std::int64_t now_ns) {
  const nanoseconds past(now_ns - judged_ns_);
  // In less time a burst of frames looks like work.
  if (past >= std::chrono::milliseconds(kBusyWindowMs)) {
    judged_ns_ = now_ns;
    const std::int64_t process_ns = ProcessorNs();
    const bool busy = nanoseconds(process_ns - std::exchange(process_ns_, process_ns)) >= past / kBusyShare;
    if (busy) alert_until_ns_ = std::max(alert_until_ns_, now_ns + kAfterWorkNs);
  }
  return now_ns < alert_until_ns_;
}

void FrontDoor::CutFloods(std::int64_t now_ns) {
  const nanoseconds past(now_ns - std::exchange(floods_looked_ns_, now_ns));
  alert_ = IsAlert(now_ns);
  MeasureReads(alert_);
  const std::vector<std::int64_t> before = std::exchange(used_ns_, used_());
  nanoseconds used{0};
  for (std::size_t i = 0; i < before.size(); ++i) used = std::max(used, nanoseconds(used_ns_[i] - before[i]));
  CutSilentTalkers(std::max(used, past / kCalmShare));
  const std::vector<ConnectionTable::Costly> costly = connections_.TakeCostly(ReadCostOf, past, Second());
  ForgetEnded();
  for (const auto& [socket, peer] : costly) {
    alert_until_ns_ = now_ns + kAfterFloodNs;
    CutAndQuarantine(connections_, socket, peer);
    for (const Socket& each : connections_.TakeCrowd(peer, Unread, ConnectionFault::kStall)) {
      CutAndQuarantine(connections_, each, peer);
    }
  }
  const bool panels = connections_.TellRanks(RankReads);
  const OtherWork work = connections_.TakeOtherWork();
  if (work.time >= past / kBusyShare) alert_until_ns_ = std::max(alert_until_ns_, now_ns + kAfterWorkNs);
  if (panels) {
    held_back_.Look(work, past);
  } else {
    held_back_.End();
  }
}

void FrontDoor::CutSilentTalkers(nanoseconds spent) {
  for (const Socket& talker : connections_.TakeTalkers(SaysMoreThanAHello, spent)) {
    CutAndQuarantine(connections_, talker);
  }
}

void FrontDoor::CutUnheard() {
  for (const Socket& each : connections_.TakeUnheard(Unexplained)) CutAndQuarantine(connections_, each);
}

void FrontDoor::WatchMemory(std::int64_t now_ns) {
  memory_looked_ns_ = now_ns;
  const bool plenty_before = memory_state_ == MemoryState::kPlenty;
  memory_state_ = memory_.Look();
  if (memory_state_ == MemoryState::kPlenty) return;
  connections_.NoteSent(Unexplained, plenty_before);  // a watcher's window updates make nothing grow
  // What was cut needs its time to go: nobody else pays for it meanwhile.
  if (memory_state_ != MemoryState::kOut) return;
  const auto [greediest, report] = connections_.TakeGreediest();
  for (const Socket& each : greediest) {
    if (report) {
      Cut(each);  // it may come back at once
    } else {
      CutAndQuarantine(connections_, each);
    }
  }
  if (!greediest.empty()) log_.CutForMemory(greediest.size());
}

void FrontDoor::TurnAway() {
  // Whatever else the kernel drops at a listening socket counts for nobody who stays out.
  const std::uint64_t dropped = filter_.TakeDropped();
  if (!filter_.addresses().empty()) connections_.Count(ConnectionFault::kQuarantined, dropped);
  std::vector<std::string> filtered = connections_.Filtered(Second());
  if (filtered == filter_.addresses()) return;
  for (const std::string& each : filtered) {
    if (std::ranges::count(filter_.addresses(), each) > 0) continue;
    if (const auto stay = connections_.StayOf(each, Second())) log_.Floods(each, *stay);
  }
  filter_.Set(std::move(filtered));
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
    DropFilter(connection.get());
    Take(std::move(connection));
    return true;
  }
  if (errno != EMFILE && errno != ENFILE) return errno == ECONNABORTED || errno == EINTR;
  // The connection would wait, and wake this thread, until a descriptor is free: close it with the reserve.
  reserve_.Close();
  runtime::Descriptor refused(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  const bool came = refused.open();
  if (came) Refuse(ConnectionFault::kNoDescriptor, PeerOfSocket(refused.get()));
  refused.Close();
  reserve_ = OpenReserve();
  return came;
}

void FrontDoor::Take(runtime::Descriptor connection) {
  const std::string peer = PeerOfSocket(connection.get());
  // A node gives up after two seconds and connects anew: after a pause most of those that wait have gone.
  if (peer.empty() || PeerHasClosed(connection.get())) return;
  if (connections_.IsQuarantined(peer, Second())) {
    ++turned_away_;
    return Refuse(ConnectionFault::kQuarantined, peer);
  }
  if (memory_state_ >= MemoryState::kFull) return Refuse(ConnectionFault::kMemory, peer);
  // Those that are closed already must not push others out.
  if (connections_.IsCrowded(peer)) SweepIfDue(kBusySweepNs);
  std::optional<ConnectionFault> fault = connections_.Refuses(peer);
  if (fault) {
    SweepIfDue(kBusySweepNs);
    fault = connections_.Refuses(peer);
  }
  if (fault) return Refuse(*fault, peer);
  const Socket socket{connection.get(), InodeOf(connection.get())};
  BeginReads(socket);
  const std::optional<Socket> cut = connections_.Add(peer, socket, Second());
  if (wire::AddressOf(peer) == wire::kUnixAddress) {
    GiveToGrpc(std::move(connection));
  } else {
    room_.Enter(std::move(connection), socket.inode, clock_.SteadyNs());
  }
  if (!cut) return;
  log_.CutAsSilent(PeerOfSocket(cut->fd));
  if (!room_.Close(*cut)) Cut(*cut);
}

bool FrontDoor::SweepIfDue(std::int64_t interval_ns) {
  const std::int64_t now_ns = clock_.SteadyNs();
  if (now_ns - swept_ns_ < interval_ns) return false;
  swept_ns_ = now_ns;
  for (const std::string& peer : room_.CloseOlderThan(now_ns - kFirstWordsNs)) {
    Refuse(ConnectionFault::kNoFirstWords, peer);
  }
  CutFloods(now_ns);  // with what those have cost that are forgotten now
  connections_.Sweep(IsOpen);
  log_.LeftOut();
  return true;
}

void FrontDoor::Refuse(ConnectionFault fault, const std::string& peer) {
  connections_.Count(fault);
  log_.Refused(fault, peer);
}

void FrontDoor::CutAndQuarantine(ConnectionTable& connections, const Socket& socket) {
  // A peer that has ended with all its streams may start again at once.
  const std::string peer = Cut(socket);
  ReleaseReads(socket);
  if (!peer.empty()) connections.KeepOut(peer, Second());
}

void FrontDoor::CutAndQuarantine(ConnectionTable& connections, const Socket& socket,
                                 const std::string& peer) {
  CutAndQuarantine(connections, socket);
  connections.KeepOut(peer, Second());
}

std::int64_t FrontDoor::Second() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now());
  return now.time_since_epoch().count();
}

}  // namespace tributary::server
