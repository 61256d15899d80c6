// What became of one UDP source's datagrams: the counts, and the log's line about them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/functional/function_ref.h"
#include "core/runtime/mutex.h"
#include "node/source/udp_datagram.h"

namespace tributary::source {

struct UdpCounters {
  std::uint64_t datagrams = 0;  // received
  std::array<std::uint64_t, kUdpFaults> unused = {};
  std::uint64_t lost_subjects = 0;  // incomplete when their slot was handed on
  std::uint64_t lost_slots = 0;     // without a complete subject
  std::uint64_t kernel_drops = 0;   // datagrams for which the socket's buffer had no room

  std::uint64_t all_unused() const;
  std::uint64_t& of(UdpFault fault) { return unused[static_cast<std::size_t>(fault)]; }
  UdpCounters& operator+=(const UdpCounters& other);
};

// Counts since the source was opened. Thread-safe: the panel's thread writes, and may wait in Source::Next
// for hours. Readers share it, so its counts outlive the source.
class UdpAccount {
 public:
  explicit UdpAccount(std::uint16_t port) : port_(port) {}

  void Add(const UdpCounters& more) {
    const runtime::MutexLock lock(mutex_);
    counters_ += more;
  }
  UdpCounters counters() const {
    const runtime::MutexLock lock(mutex_);
    return counters_;
  }
  std::uint16_t port() const { return port_; }  // that the source is bound to

 private:
  const std::uint16_t port_;
  mutable runtime::Mutex mutex_;
  UdpCounters counters_ GUARDED_BY(mutex_);
};

// Logs what arrives and is not used, without a line for each datagram: at most one line in kIntervalNs, the
// first kFirstNs after the first loss. It has each reason with its count and one example. Times are of the
// steady clock. One thread's.
class UdpReport {
 public:
  static constexpr std::int64_t kFirstNs = 1'000'000'000;
  static constexpr std::int64_t kIntervalNs = 10'000'000'000;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // Data was lost; a line becomes due.
  void Add(const UdpCounters& lost, std::int64_t now_ns);
  // Keeps the first refusal of each reason as its example. `sender` is called for that one.
  void Note(const UdpRefusal& refusal, absl::FunctionRef<std::string()> sender);

  std::int64_t due_ns() const { return due_ns_; }

  // The line about what was lost since the last one: "550 datagrams in the last 10.0 s not used: 100 width
  // (…), …". Empty: nothing was lost.
  std::string Take(std::int64_t now_ns);

 private:
  std::int64_t since_ns_ = 0;
  std::int64_t due_ns_ = kNever;
  std::int64_t next_ns_ = std::numeric_limits<std::int64_t>::min();  // no line before
  UdpCounters lost_;
  std::array<std::string, kUdpFaults> examples_;
};

}  // namespace tributary::source
