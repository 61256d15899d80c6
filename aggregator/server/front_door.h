// The listening socket of the gRPC port. Bounds connections before they cost a handshake.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/server/address_filter.h"
#include "aggregator/server/connection_table.h"
#include "aggregator/server/door_log.h"
#include "aggregator/server/held_back.h"
#include "aggregator/server/listeners.h"
#include "aggregator/server/memory_watch.h"
#include "aggregator/server/suspect_queue.h"
#include "aggregator/server/waiting_room.h"
#include "core/runtime/clock.h"
#include "core/runtime/descriptor.h"
#include "core/runtime/thread_rank.h"

namespace tributary::server {

// gRPC itself accepts every connection, and none any more once the process has run out of descriptors. This
// accepts in its place, on a thread of its own, and hands over the connections that are within the limits,
// once they have begun to speak (WaitingRoom) and at a bounded rate. The others are closed, counted and
// logged at a bounded rate. A closed connection is noticed within a second, or when its place is needed.
// Addresses that have flooded the port get no answer for a while (AddressFilter).
//
// It also looks at the process's memory, fifty times a second. When that has run out, no connection comes in
// and those that made it grow are cut, whatever it was that gRPC kept for them. While the process is busy, it
// looks two hundred times a second for connections that keep a thread that fuses (ReadCost) and for those of
// which no call comes.
class FrontDoor {
 public:
  // Takes over the descriptor of a connection.
  using HandOver = std::function<void(int fd)>;

  // Listens on "host:port" or "unix:path"; port 0: any. Fewer connections are allowed than `limits` says if
  // the process may not have that many descriptors. Unavailable: the address cannot be bound. `clock`
  // outlives it.
  static absl::StatusOr<std::unique_ptr<FrontDoor>> Listen(const std::string& address,
                                                           ConnectionLimits limits, MemoryWatch memory,
                                                           const runtime::Clock& clock);
  ~FrontDoor();

  // The processor's time that each thread that fuses has used, ns.
  using Used = std::function<std::vector<std::int64_t>()>;

  // Accepts from now on. `used` is asked until Close.
  void Open(HandOver hand_over, Used used);
  // Closes the listening sockets. Connections stay.
  void Close();

  int port() const { return port_; }  // 0: a unix socket
  ConnectionTable& connections() { return connections_; }
  const ConnectionTable& connections() const { return connections_; }

  // HeldBack::times.
  std::uint64_t held_back() const { return held_back_.times(); }
  // Ends a connection that another thread may be closing at the same time, and keeps its address out for a
  // while unless the peer has closed it already.
  static void CutAndQuarantine(ConnectionTable& connections, const Socket& socket);
  // The same, and keeps this peer's address out in any case: it has gone beyond a limit by all its
  // connections, and closing one is no excuse.
  static void CutAndQuarantine(ConnectionTable& connections, const Socket& socket, const std::string& peer);
  // Now, by the clock by which addresses are quarantined.
  static std::int64_t Second();

 private:
  FrontDoor(const ConnectionLimits& limits, MemoryWatch memory, const runtime::Clock& clock);

  void Run(std::stop_token stop);
  void AcceptFrom(int listener);
  // Takes the connection; false: nothing waits.
  bool AcceptOne(int listener);
  void Take(runtime::Descriptor connection);
  // Forgets the connections that are closed; whether it was due.
  bool SweepIfDue(std::int64_t interval_ns);
  // Hands over those who have begun to speak, some at a time.
  void LetIn();
  void PassOn(runtime::Descriptor connection);
  void GiveToGrpc(runtime::Descriptor connection);
  // Whether the process is busy, or was a short while ago: then connections are looked at more often.
  bool IsAlert(std::int64_t now_ns);
  void CutFloods(std::int64_t now_ns);
  // `spent`: of the patience with them.
  void CutSilentTalkers(std::chrono::nanoseconds spent);
  void CutUnheard();
  void WatchMemory(std::int64_t now_ns);
  // Has the kernel do it for the addresses that stay out, and counts what it did.
  void TurnAway();
  void Refuse(ConnectionFault fault, const std::string& peer);

  ConnectionTable connections_;
  MemoryWatch memory_;
  const runtime::Clock& clock_;
  std::vector<runtime::Descriptor> listeners_;
  AddressFilter filter_;
  SocketFile file_;
  int port_ = 0;
  runtime::Descriptor wake_;     // an eventfd
  runtime::Descriptor reserve_;  // given up to close a connection when no other descriptor is left
  WaitingRoom room_;
  std::int64_t let_in_ns_ = 0;
  int let_in_ = 0;  // since then
  SuspectQueue suspects_;
  std::int64_t suspect_let_in_ns_ = 0;
  std::int64_t swept_ns_ = 0;
  std::int64_t memory_looked_ns_ = 0;
  MemoryState memory_state_ = MemoryState::kPlenty;
  std::int64_t unheard_looked_ns_ = 0;
  std::int64_t floods_looked_ns_ = 0;
  HeldBack held_back_;
  std::vector<std::int64_t> used_ns_;  // the processor's time of the threads that fuse, at that look
  std::int64_t judged_ns_ = 0;
  std::int64_t process_ns_ = 0;  // the processor's time of the process, when IsAlert judged it last
  bool alert_ = false;
  std::int64_t alert_until_ns_ = 0;
  // gRPC's own, which ends calls: a flood of them must not share the processors with those who fuse.
  runtime::ForeignThreads executor_{"default-executo", runtime::ThreadRank::kBackground};
  int turned_away_ = 0;  // in one go, because their address is quarantined
  DoorLog log_;
  HandOver hand_over_;
  Used used_;
  std::jthread thread_;
};

}  // namespace tributary::server
