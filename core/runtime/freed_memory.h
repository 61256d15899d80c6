// Gives memory back to the system after a rush.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "core/runtime/memory_limit.h"
#include "core/runtime/process.h"

namespace tributary::runtime {

// malloc keeps what is freed (TuneProcess). After a rush of connections or large messages that is most of the
// process. One thread's.
class FreedMemory {
 public:
  // `resident`, `return_freed`: the process's; others in tests.
  explicit FreedMemory(
      std::function<std::uint64_t()> resident = [] { return ResidentBytes(); },
      std::function<void()> return_freed = ReturnFreedMemory)
      : resident_(std::move(resident)), return_freed_(std::move(return_freed)) {}

  // Call it some times a second. Returns freed memory if the process has grown by 4 MiB since the last time,
  // and no more in the last two seconds: returning takes milliseconds, and what is used again costs its page
  // faults.
  void ReturnWhenQuiet(std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now()) {
    if (now < next_) return;
    next_ = now + std::chrono::seconds(2);
    const std::uint64_t resident = resident_();
    const bool quiet = resident <= last_ + kNoise;
    last_ = resident;
    if (kept_ == 0) kept_ = resident;  // what the start took
    if (!quiet || resident <= kept_ + kGrowth) return;
    return_freed_();
    last_ = kept_ = resident_();
  }

 private:
  static constexpr std::uint64_t kGrowth = 4 << 20;
  static constexpr std::uint64_t kNoise = 256 << 10;

  const std::function<std::uint64_t()> resident_;
  const std::function<void()> return_freed_;
  std::chrono::steady_clock::time_point next_{};
  std::uint64_t last_ = 0;  // resident, two seconds ago
  std::uint64_t kept_ = 0;  // resident after the last return
};

}  // namespace tributary::runtime
