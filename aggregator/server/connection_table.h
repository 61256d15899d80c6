// The connections of the gRPC port: how many there are, from which address, and with how many calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/runtime/mutex.h"

namespace tributary::server {

// Why a connection was refused or cut.
enum class ConnectionFault : std::uint8_t {
  kTooMany,           // in all
  kTooManyOfAddress,  // from its address
  kTooManySilent,     // that have not made a call yet, in all
  kTooManySilentOfAddress,
  kNoDescriptor,  // the process has no file descriptor left
  kTooManyCalls,  // the connection has more calls than it may have streams
  kResets,        // the connection resets its streams as fast as it opens them
  kQuarantined,   // its address had a connection cut for one of these two a moment ago
  kNoCall,        // it sent more than any call begins with, and no call came of it
};
inline constexpr std::size_t kConnectionFaults = 9;

// "too_many", "too_many_of_address" …: the label of a metric.
constexpr std::string_view ConnectionFaultName(ConnectionFault fault) {
  constexpr std::array<std::string_view, kConnectionFaults> kNames = {
      "too_many",      "too_many_of_address", "too_many_silent", "too_many_silent_of_address",
      "no_descriptor", "too_many_calls",      "resets",          "quarantined",
      "no_call"};
  return kNames[static_cast<std::size_t>(fault)];
}

struct ConnectionLimits {
  std::size_t connections = 2048;
  std::size_t of_address = 512;
  // A connection is silent until its first call: it costs a TLS handshake's memory, and nobody knows yet who
  // it is. Beyond any of these four limits the oldest silent one makes room, so that an honest peer always
  // gets in; only connections that have made calls are never cut for a newcomer.
  std::size_t silent = 1024;
  std::size_t silent_of_address = 128;
  // Calls that are not over. A peer that resets its streams as fast as it opens them leaves calls behind that
  // gRPC still has to end; no other peer has more calls than streams.
  std::size_t calls_of_connection = 2048;
  // Ten thousand nodes that learn have a stream of tasks and an upload each, at the same time.
  std::size_t calls = 32'768;
  // In one second, of one connection: streams of reports and watchers, and what RareCalls answers. Each costs
  // the thread that fuses some time, also if it ends at once.
  std::size_t rare_calls = 500;
  // In one second, of one connection: calls that the peer has reset. Its streams may all end at once.
  std::size_t resets = 2048;
  // Report streams without a hello among them: gRPC's threads open them faster than one thread takes them in,
  // and what waits in between, 13 kB each, is not counted.
  std::size_t report_resets = 128;
  // No new connection from the address of a connection that was cut for its calls, for so long. A flood costs
  // the fusing thread some ten milliseconds before it is cut: it must not come back at once.
  std::int64_t quarantine_s = 10;
};

// A connection's place in the kernel. The inode tells it from a later one with the same descriptor.
struct Socket {
  int fd = -1;
  std::uint64_t inode = 0;
};

// Thread-safe. Knows a connection by its peer, "192.0.2.7:5000" (wire::PeerOf).
class ConnectionTable {
 public:
  explicit ConnectionTable(const ConnectionLimits& limits) : limits_(limits) {}

  // Whether a connection from this peer may come in; if not, why.
  std::optional<ConnectionFault> Refuses(const std::string& peer) const;
  // Takes it in. The silent connection to cut if there are too many, already counted and forgotten.
  std::optional<Socket> Add(const std::string& peer, Socket socket);
  // Forgets the connections that are no longer open.
  void Sweep(const std::function<bool(Socket)>& open);
  // Forgets the silent connections of which `talks` was true this often: a call begins some milliseconds
  // after its first bytes. Those to cut, already counted. gRPC answers frames of which no call comes by
  // itself: streams that are reset before their message, pings, endless headers.
  static constexpr int kTalks = 10;
  std::vector<Socket> TakeTalkers(const std::function<bool(Socket)>& talks);

  // A call of this peer begins. The connection to cut, if there are too many calls: that peer's own, or the
  // one with the most calls.
  std::optional<Socket> BeginCall(const std::string& peer);
  void EndCall(const std::string& peer);
  // A call of this peer was reset, in that second of any clock: the connection to cut if there are too many.
  std::optional<Socket> NoteReset(const std::string& peer, bool report, std::int64_t second);
  // Refuses new connections from the peer's address for a while.
  void Quarantine(const std::string& peer, std::int64_t second);
  bool IsQuarantined(const std::string& peer, std::int64_t second) const;
  // One of the rare calls, in that second of any clock: the connection to cut if there are too many.
  std::optional<Socket> NoteRareCall(const std::string& peer, std::int64_t second);

  // For what refuses connections itself.
  void Count(ConnectionFault fault);

  struct Figures {
    std::size_t connections = 0;
    std::size_t silent = 0;
    std::size_t calls = 0;
    std::array<std::uint64_t, kConnectionFaults> refused = {};
  };
  Figures figures() const;

 private:
  struct Connection {
    Socket socket;
    std::uint64_t number = 0;  // ascends in the order of arrival
    bool silent = true;
    bool cut = false;
    int talks = 0;  // how often TakeTalkers found it talking
    std::size_t calls = 0;
    std::int64_t second = 0;        // of the latest rare call
    std::size_t rare_calls = 0;     // in that second
    std::int64_t reset_second = 0;  // of the latest reset
    std::size_t resets = 0;         // in that second
    std::size_t report_resets = 0;
  };
  struct Address {
    std::size_t connections = 0;
    std::size_t silent = 0;
  };
  using Connections = std::unordered_map<std::string, Connection>;

  void Forget(Connections::iterator found) REQUIRES(mutex_);
  // The oldest silent connection of that address.
  Connections::iterator OldestSilent(const std::string& address) REQUIRES(mutex_);
  std::string AddressWithMostSilent() const REQUIRES(mutex_);
  Connection* MostCalls() REQUIRES(mutex_);

  const ConnectionLimits limits_;
  mutable runtime::Mutex mutex_;
  Connections connections_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, Address> addresses_ GUARDED_BY(mutex_);
  static constexpr std::size_t kMostQuarantined = 4096;  // beyond it those whose time is over are forgotten
  std::unordered_map<std::string, std::int64_t> quarantined_ GUARDED_BY(mutex_);  // since that second
  std::uint64_t last_number_ GUARDED_BY(mutex_) = 0;
  std::size_t silent_ GUARDED_BY(mutex_) = 0;
  std::size_t calls_ GUARDED_BY(mutex_) = 0;
  std::array<std::uint64_t, kConnectionFaults> refused_ GUARDED_BY(mutex_) = {};
};

}  // namespace tributary::server
