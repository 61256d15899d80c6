// Gives memory back to the system after a rush.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "core/runtime/memory_limit.h"
#include "core/runtime/process.h"

namespace tributary::runtime {

// malloc keeps what is freed (TuneProcess). After a rush of connections or large messages that is most of the
// process. One thread's.
class FreedMemory {
 public:
  using Bytes = std::function<std::uint64_t()>;

  // `resident`: bytes of the process in memory; `freed`: those that malloc keeps, also where it has given the
  // memory back; `return_freed`: gives them back. Others in tests.
  explicit FreedMemory(
      Bytes resident = [] { return ResidentBytes(); }, Bytes freed = FreedBytes,
      std::function<void()> return_freed = ReturnFreedMemory)
      : resident_(std::move(resident)), freed_(std::move(freed)), return_freed_(std::move(return_freed)) {}

  // Call it some times a second. Returns freed memory if the process has grown since the last time and does
  // not grow any more: returning takes milliseconds, and what is used again costs its page faults. Freed
  // bytes alone tell nothing: malloc takes what it has returned for the next rush, and has as much again
  // after it.
  void ReturnWhenQuiet(std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now()) {
    if (now < next_) return;
    next_ = now + std::chrono::seconds(2);
    const std::uint64_t resident = resident_();
    const bool quiet = resident <= last_ + kNoise;
    last_ = resident;
    least_ = std::min(least_, resident);
    if (!quiet || resident < least_ + kGrowth || freed_() < kGrowth) return;
    return_freed_();
    least_ = last_ = resident_();
  }

 private:
  static constexpr std::uint64_t kGrowth = 256 << 10;
  static constexpr std::uint64_t kNoise = 64 << 10;

  const Bytes resident_;
  const Bytes freed_;
  const std::function<void()> return_freed_;
  std::chrono::steady_clock::time_point next_{};
  std::uint64_t last_ = 0;  // resident, two seconds ago
  std::uint64_t least_ =
      std::numeric_limits<std::uint64_t>::max();  // resident, since freed memory was returned
};

}  // namespace tributary::runtime
