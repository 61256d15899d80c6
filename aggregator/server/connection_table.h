// The connections of the gRPC port: how many there are, from which address, and with how many calls.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "aggregator/server/connection_limits.h"
#include "aggregator/server/held_back.h"
#include "aggregator/server/quarantine.h"
#include "aggregator/server/read_cost.h"
#include "aggregator/server/socket.h"
#include "core/runtime/mutex.h"

namespace tributary::server {

// What comes of a connection's bytes, and what answers them. Any thread counts.
struct ConnectionPulse {
  std::uint64_t number = 0;               // of its connection, from the beginning on
  std::atomic<std::uint64_t> heard = 0;   // calls and messages
  std::atomic<std::uint64_t> calls = 0;   // of these
  std::atomic<std::uint64_t> empty = 0;   // messages of reports, also of these, that bring no frame
  std::atomic<std::uint64_t> sent = 0;    // messages to a watcher, and again for each kSentPiece of them
  std::atomic<std::uint64_t> told = 0;    // messages to others, tasks and models, by kToldPiece
  std::atomic<std::int64_t> work_ns = 0;  // of a thread that fuses, beside reading: hellos
  static constexpr std::size_t kSentPiece = 8 << 10, kToldPiece = 64 << 10;
};

// Counts what happens within one second of any clock.
class RateLimit {
 public:
  // Counts one, or so many; whether it is beyond the limit.
  bool Exceeds(std::size_t limit, std::int64_t second, std::size_t times = 1) {
    if (second_ != second) count_ = 0;
    second_ = second;
    return (count_ += times) > limit;
  }
  // Whether the last one beyond the limit was the first, or as many again as the limit after the
  // last such. What looks at all connections then costs each little.
  bool IsTurn(std::size_t limit) const { return (count_ - 1) % std::max<std::size_t>(limit, 1) == 0; }

 private:
  std::int64_t second_ = 0;
  std::size_t count_ = 0;
};

// Thread-safe. Knows a connection by its peer, "192.0.2.7:5000" (wire::PeerOf). Whatever returns a connection
// to cut has counted it, and returns it once.
class ConnectionTable {
 public:
  explicit ConnectionTable(const ConnectionLimits& limits)
      : limits_(limits), quarantine_(limits.quarantine) {}

  // Whether a connection from this peer may come in; if not, why.
  std::optional<ConnectionFault> Refuses(const std::string& peer) const;
  // Takes it in, in that second of any clock. The silent connection to cut if there are too many, already
  // counted and forgotten; its address is quarantined if there were many in that second.
  std::optional<Socket> Add(const std::string& peer, Socket socket, std::int64_t second);
  // Forgets the connections that are no longer open.
  void Sweep(const std::function<bool(Socket)>& open);
  // Forgets the silent connections of which `talks` is true for longer than a call needs to begin after its
  // first bytes. `spent`: of the patience with them, since the last look. Those to cut, already counted. gRPC
  // answers frames of which no call comes by itself: streams that are reset before their message, pings,
  // endless headers.
  static constexpr std::chrono::milliseconds kPatience{40};
  std::vector<Socket> TakeTalkers(const std::function<bool(Socket)>& talks, std::chrono::nanoseconds spent);

  // A call of this connection begins; `name`: of its certificate, empty without TLS. The connection to cut,
  // if there are too many calls or they come too fast: its own, or if there are too many in all the one with
  // the most.
  std::optional<Socket> BeginCall(const std::string& peer, std::string_view name, std::int64_t second);
  // After BeginCall has cut a connection of this peer's: its others with at least kCrowd bytes that gRPC has
  // not read, if the peer has more calls than its share. A flood comes by many connections, and gRPC makes
  // calls of all that it has read before they count. Not those that report. `fault`: why; after TakeCostly
  // kStall, whatever the peer's calls.
  std::vector<Socket> TakeCrowd(const std::string& peer, const std::function<std::uint64_t(Socket)>& unread,
                                ConnectionFault fault = ConnectionFault::kTooManyCallsOfPeer);
  static constexpr std::uint64_t kCrowd = 512, kCrowdOfCostly = 1;  // a record of TLS may want its last byte
  // To count its messages by; BeginCall counts the calls itself. Null: a unix socket, or closed
  // already.
  std::shared_ptr<ConnectionPulse> PulseOf(const std::string& peer) const;
  // The call is a Report stream that was admitted: fusion depends on its connection.
  void NoteReport(const std::string& peer);
  // `reported`: NoteReport was told of the call. `pulse`: its connection's when it began; null: whichever has
  // the address now.
  void EndCall(const std::string& peer, bool reported = false, const ConnectionPulse* pulse = nullptr);
  // A call was reset, in that second of any clock: the connection to cut if there are too many.
  std::optional<Socket> NoteReset(const std::string& peer, bool report, std::int64_t second);
  // One of the rare calls, in that second of any clock: the connection to cut if there are too many.
  std::optional<Socket> NoteRareCall(const std::string& peer, std::int64_t second);
  // A Report stream of this connection ended without a hello, in that second of any clock: those of its
  // peer's connections that report nothing, if there are too many such streams.
  std::vector<Socket> NoteFruitlessReport(const std::string& peer, std::int64_t second);
  // A stream of reflection, in that second of any clock: the connection to cut if its peer opens too many.
  std::optional<Socket> NoteReflection(const std::string& peer, std::int64_t second) {
    return CountOfPeer(peer, &Peer::reflections, limits_.reflections, ConnectionFault::kCallRate, second);
  }
  // A message of a report that brings no frame, in that second of any clock: the connection to cut if there
  // are too many.
  std::optional<Socket> NoteEmptyMessage(const std::string& peer, std::int64_t second);
  // A request that no node makes, or a model that is not taken in, in that second of any clock: the
  // connection to cut if its peer makes too many.
  std::optional<Socket> NoteMalformed(const std::string& peer, std::int64_t second) {
    return CountOfPeer(peer, &Peer::malformed, limits_.malformed, ConnectionFault::kMalformed, second);
  }
  // The headers of a call of that name have come and it is admitted, in that second of any clock: the name's
  // connections that report nothing, if there are too many such calls. BeginCall comes later, on
  // another thread: by then gRPC has read on.
  std::vector<Socket> NoteAdmittedCall(const std::string& name, std::int64_t second) {
    return CutOfName(name, &Peer::admitted, limits_.call_burst, second, false);
  }
  // A call of that name was refused: its connections, if there are too many such calls. A connection that has
  // never made a call is found by TakeTalkers.
  std::vector<Socket> NoteRefusedCall(const std::string& name, std::int64_t second) {
    return CutOfName(name, &Peer::refused, limits_.refused_calls, second, true);
  }
  // Refuses new connections from the peer's address for a while, for what the peer was cut for.
  void KeepOut(const std::string& peer, std::int64_t second);
  bool IsQuarantined(const std::string& peer, std::int64_t second) const;
  // The addresses that the kernel is to turn away.
  std::vector<std::string> Filtered(std::int64_t second) const {
    const runtime::MutexLock lock(mutex_);
    return quarantine_.Filtered(second);
  }
  // Why and for how long an address (wire::AddressOf) stays out; nothing: it does not.
  std::optional<Quarantine::Stay> StayOf(const std::string& address, std::int64_t second) const {
    const runtime::MutexLock lock(mutex_);
    return quarantine_.StayOf(address, second);
  }
  // Its address has flooded a short while ago, or has spent a good part of what those may that make no call.
  bool IsSuspect(const std::string& peer, std::int64_t second) const;
  // It is read from now on, and costs, in that second of any clock.
  void NoteBegun(const std::string& peer, std::int64_t second);
  // So many connections of this address (wire::AddressOf), which had to wait, have hung up in that second. It
  // is kept out if they are too many: to come back again and again takes the door's time.
  void NoteGaveUp(const std::string& address, std::size_t connections, std::int64_t second);
  // Whether another connection of this address (wire::AddressOf) may begin in that second.
  bool MayBegin(const std::string& address, std::int64_t second) const;
  // Whether taking this peer in may cut a silent connection, or refuse it: Sweep finds those that are closed.
  bool IsCrowded(const std::string& peer) const;

  // Notes what each connection has sent since the last time; call it fifty times a second while memory is
  // scarce. `received`: in all, but for answers; `first`: memory was plenty the last time.
  void NoteSent(const std::function<std::uint64_t(Socket)>& received, bool first);
  // When memory has run out: the connections of the address that sent most in the seconds since it was
  // plenty, and of those that sent at least half as much. Nobody knows what gRPC keeps for a connection, and
  // who has sent little keeps little. Those that report come last, so that what is fused goes on: when all
  // that were cut before have gone, and only if they have sent more than kGreedy since the last look.
  struct Greediest {
    std::vector<Socket> sockets;
    bool report = false;
  };
  Greediest TakeGreediest();
  // Bytes that one without a call has sent when it ends: then it counts as kNoCall. A handshake has 2 to 4
  // KiB.
  static constexpr std::uint64_t kMuchOfASilentOne = 8 << 10;
  static constexpr std::uint64_t kGreedy = 256 << 10, kLittle = 4 << 10;

  // Charges each connection with what it has cost since the last call, `past` ago, in that second of any
  // clock; `cost`: in all, nothing where it is not known. Those to cut, with their peers: they have cost more
  // than is paid for, alone or with their peer's others, or they have sent headers of which no call came, too
  // many of their peer's together in this second (those that report: many themselves), or, with all
  // connections of their address that have not made a call or have gone, too much. Such an address is kept
  // out also if all have gone.
  struct Costly {
    Socket socket;
    std::string peer;
  };
  std::vector<Costly> TakeCostly(const std::function<std::optional<ReadCost>(Socket)>& cost,
                                 std::chrono::nanoseconds past, std::int64_t second);
  // Tells that of each connection. A panel or a watcher is favoured while it owes nothing notable. Whether
  // any reports.
  bool TellRanks(const std::function<void(Socket, ReadRank)>& tell) const;
  // Since the last call; what TakeCostly has charged, without handshakes, unix sockets (which cannot be held
  // back), and what messages of reports pay for.
  OtherWork TakeOtherWork();
  // Call four times a second; `received`: bytes in all. Those to cut, for they have sent more than
  // unheard_bytes since something was last heard of them, without what answers the messages sent to them.
  std::vector<Socket> TakeUnheard(const std::function<std::uint64_t(Socket)>& received);

  // For what refuses connections itself.
  void Count(ConnectionFault fault, std::uint64_t times = 1) {
    const runtime::MutexLock lock(mutex_);
    refused_[static_cast<std::size_t>(fault)] += times;
  }

  struct Figures {
    std::size_t connections = 0;
    std::size_t silent = 0;
    std::size_t calls = 0;
    std::array<std::uint64_t, kConnectionFaults> refused = {};
  };
  Figures figures() const;

 private:
  struct Peer {
    std::size_t connections = 0;  // that have made a call
    std::size_t calls = 0;
    std::chrono::nanoseconds lone_left{0};  // what lone messages of all its connections may pay now
    RateLimit rate = {};
    RateLimit admitted = {};
    RateLimit refused = {};
    RateLimit reflections = {};
    RateLimit malformed = {};
    RateLimit fruitless_reports = {};
  };
  using Peers = std::unordered_map<std::string, Peer>;  // by name or address
  struct Connection {
    Socket socket;
    std::uint64_t number = 0;  // ascends in the order of arrival
    bool silent = true;
    bool closed = false;  // but some of its calls have not ended
    std::optional<ConnectionFault> cut = {};
    std::chrono::nanoseconds talked{0};  // TakeTalkers' patience that it has used up
    std::size_t calls = 0;
    std::size_t reports = 0;             // of these
    Peers::value_type* whose = nullptr;  // null before its first call
    std::shared_ptr<ConnectionPulse> pulse = std::make_shared<ConnectionPulse>();
    // When TakeCostly looked last:
    ReadCost cost = {};
    std::uint64_t paid_messages = 0;
    std::uint64_t paid_calls = 0;
    std::uint64_t paid_sent = 0;
    std::uint64_t paid_told = 0;
    std::int64_t charged_work_ns = 0;
    std::chrono::nanoseconds unpaid{0};
    std::chrono::nanoseconds lone_left{0};  // what lone messages may pay now
    int watches = 0;                        // looks until it is no watcher any more, if nothing is sent to it
    std::chrono::nanoseconds excused{0};    // of it: a handshake, a name may have hundreds
    std::chrono::nanoseconds other_work{0};
    std::uint64_t fruitless_headers = 0;  // of which no call had come
    std::uint64_t fruitless_before = 0;   // in earlier seconds
    std::int64_t fruitless_second = -1;
    bool begun = false;
    std::int64_t since = 0;                    // the second in which it has begun
    std::chrono::nanoseconds silent_cost{0};   // what it has cost before its first call
    std::chrono::nanoseconds silent_flood{0};  // of it: more than explains
    // When TakeUnheard looked last:
    std::uint64_t seen_heard = 0;
    std::uint64_t seen_sent = 0;
    std::uint64_t seen_received = 0;
    std::uint64_t answers_due = 0;     // bytes, for pings and window updates
    std::uint64_t heard_received = 0;  // received when something was last heard, and answers since
    RateLimit rare_calls = {};
    RateLimit empty_messages = {};
    RateLimit resets = {};
    RateLimit report_resets = {};
    std::uint64_t received = 0;  // when NoteSent looked last
    std::uint64_t sent = 0;      // between the last two looks
    std::uint64_t lately = 0;    // in the last seconds, the later the more
  };
  struct Address {
    std::size_t connections = 0;
    std::size_t closed = 0;  // of these
    std::size_t silent = 0;
    RateLimit silent_cuts = {};
    RateLimit gave_up = {};
  };
  using Connections = std::unordered_map<std::string, Connection>;
  struct SilentCost {
    std::chrono::nanoseconds spent{0};     // and not paid for by time: decides who may begin
    std::chrono::nanoseconds flood{0};     // the same, without what beginnings and ends explain: cuts
    std::chrono::nanoseconds begun{0};     // what those that have begun are still taken to cost
    std::chrono::nanoseconds forgiven{0};  // for handshakes, and not given back by time
    std::chrono::nanoseconds ended{0};     // forgiven for ends, the same
  };

  // Sockets are looked at without the lock: the threads that fuse wait for it. The number says later which
  // connection it was.
  using Numbers = std::unordered_set<std::uint64_t>;
  std::vector<std::pair<std::uint64_t, Socket>> Sockets(bool silent_only) const EXCLUDES(mutex_);
  Numbers Which(bool silent_only, const std::function<bool(Socket)>& condition) const EXCLUDES(mutex_);

  bool Suspects(const std::string& address, std::int64_t second) const REQUIRES(mutex_);
  void Forget(Connections::iterator found) REQUIRES(mutex_);
  // The key of a connection whose address another one has now: as an address, the same.
  static std::string EarlierKey(const std::string& peer, std::uint64_t number) {
    return peer + "#" + std::to_string(number);
  }
  Connections::iterator WithPulse(const std::string& peer, const ConnectionPulse* pulse) REQUIRES(mutex_);
  // It has made its first call, in that second.
  void ForgiveHandshake(Connection& own, const std::string& address, std::int64_t second) REQUIRES(mutex_);
  // It has made no call yet and has cost so much since the last look.
  void ChargeSilence(Connection& own, const std::string& address, std::chrono::nanoseconds spent,
                     std::int64_t second) REQUIRES(mutex_);
  // It goes, and leaves what it owes.
  void LeaveDebt(const Connection& own, const std::string& address) REQUIRES(mutex_);
  void PayByTime(std::chrono::nanoseconds past) REQUIRES(mutex_);
  // Those that have spent too much.
  std::unordered_set<std::string> CostlyAddresses(std::int64_t second) const REQUIRES(mutex_);
  // Headers of which no call has come, in that second.
  std::uint64_t FruitlessHeaders(Connection& own, std::int64_t second) const REQUIRES(mutex_);
  bool Owes(const Connection& own) const { return own.unpaid >= limits_.notable(); }
  // Whether what it owes counts for its peer, too.
  bool AddsUp(const Connection& own) const {
    return own.unpaid >= (own.reports > 0 ? limits_.notable() : own.excused + limits_.noticed());
  }
  // What so many messages pay of what it owes, because they come alone.
  std::chrono::nanoseconds PaidByLone(Connection& own, std::int64_t messages,
                                      std::chrono::nanoseconds past) const REQUIRES(mutex_);
  // What it has cost since the last look.
  std::chrono::nanoseconds Charge(Connection& own, const ReadCost& cost, std::chrono::nanoseconds past) const
      REQUIRES(mutex_);
  // `received`: bytes in all.
  void NoteHeard(Connection& own, std::uint64_t received) const REQUIRES(mutex_);
  // The oldest silent connection of that address.
  Connections::iterator OldestSilent(const std::string& address) REQUIRES(mutex_);
  std::string AddressWithMostSilent() const REQUIRES(mutex_);
  // Reports do not count.
  Connection* MostCalls() REQUIRES(mutex_);
  // Cuts those of which `chosen` says so.
  using Chosen = std::function<bool(const Connection&)>;
  std::vector<Socket> CutAll(ConnectionFault fault, const Chosen& chosen) REQUIRES(mutex_);
  // Counts one against a limit of its peer; the connection if that was one too many.
  std::optional<Socket> CountOfPeer(const std::string& peer, RateLimit Peer::*rate, std::size_t limit,
                                    ConnectionFault fault, std::int64_t second);
  // Counts one against a limit of that name; its connections if that was one too many. `working`: also those
  // that report.
  std::vector<Socket> CutOfName(const std::string& name, RateLimit Peer::*rate, std::size_t limit,
                                std::int64_t second, bool working);
  // Nothing if the connection is null or has been cut before.
  std::optional<Socket> Cut(Connection* connection, ConnectionFault fault) REQUIRES(mutex_);

  const ConnectionLimits limits_;
  mutable runtime::Mutex mutex_;
  Connections connections_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, Address> addresses_ GUARDED_BY(mutex_);
  Peers peers_ GUARDED_BY(mutex_);
  Quarantine quarantine_ GUARDED_BY(mutex_);
  // By address, of connections that have not made a call or have gone.
  std::unordered_map<std::string, SilentCost> silent_costs_ GUARDED_BY(mutex_);
  std::uint64_t last_number_ GUARDED_BY(mutex_) = 0;
  std::size_t silent_ GUARDED_BY(mutex_) = 0;
  std::size_t closed_ GUARDED_BY(mutex_) = 0;
  std::int64_t second_ GUARDED_BY(mutex_) = 0;  // when TakeCostly looked last
  std::size_t calls_ GUARDED_BY(mutex_) = 0;
  std::size_t lasting_calls_ GUARDED_BY(mutex_) = 0;  // but for those of connections that were cut
  std::array<std::uint64_t, kConnectionFaults> refused_ GUARDED_BY(mutex_) = {};
};

}  // namespace tributary::server
