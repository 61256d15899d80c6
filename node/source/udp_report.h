// Logs what arrives and is not used, without a line for each datagram.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/functional/function_ref.h"
#include "node/source/udp_account.h"

namespace tributary::source {

// Writes at most one line in kIntervalNs, the first kFirstNs after the first loss. It has each reason with
// its count and one example. Times are of the steady clock. One thread's.
class UdpReport {
 public:
  static constexpr std::int64_t kFirstNs = 1'000'000'000;
  static constexpr std::int64_t kIntervalNs = 10'000'000'000;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // Data was lost; a line becomes due.
  void Begin(std::int64_t now_ns);
  // The same for a datagram that was not used. `sender` is called for the first one of each reason.
  void Note(const UdpRefusal& refusal, absl::FunctionRef<std::string()> sender, std::int64_t now_ns);

  std::int64_t due_ns() const { return due_ns_; }

  // The line about what was counted since the last one: "550 datagrams in the last 10.0 s not used: 100 width
  // (…), …". Empty: nothing was lost.
  std::string Take(const UdpCounters& counters, std::int64_t now_ns);

 private:
  std::int64_t since_ns_ = 0;
  std::int64_t due_ns_ = kNever;
  std::int64_t next_ns_ = std::numeric_limits<std::int64_t>::min();  // no line before
  UdpCounters told_;
  std::array<std::string, kUdpFaults> examples_;
};

}  // namespace tributary::source
