// Gives memory back to the system after a rush.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "core/runtime/process.h"

namespace tributary::runtime {

// malloc keeps what is freed (TuneProcess). After a rush of connections or large messages that is most of the
// process. One thread's.
class FreedMemory {
 public:
  // `freed`: bytes that malloc keeps; `return_freed`: gives them back. Others in tests.
  explicit FreedMemory(std::function<std::uint64_t()> freed = FreedBytes,
                       std::function<void()> return_freed = ReturnFreedMemory)
      : freed_(std::move(freed)), return_freed_(std::move(return_freed)) {}

  // Call it some times a second. Returns freed memory if there is 1 MiB more of it than after the last time,
  // and it has not grown in the last two seconds: returning takes milliseconds, and what is used again costs
  // its page faults.
  void ReturnWhenQuiet(std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now()) {
    if (now < next_) return;
    next_ = now + std::chrono::seconds(2);
    const std::uint64_t freed = freed_();
    const bool quiet = freed <= last_ + kNoise;
    last_ = freed;
    // malloc counts what was returned as freed until it is used again.
    returned_ = std::min(returned_, freed);
    if (!quiet || freed <= returned_ + kGrowth) return;
    return_freed_();
    returned_ = freed;
  }

 private:
  static constexpr std::uint64_t kGrowth = 1 << 20;
  static constexpr std::uint64_t kNoise = 256 << 10;

  const std::function<std::uint64_t()> freed_;
  const std::function<void()> return_freed_;
  std::chrono::steady_clock::time_point next_{};
  std::uint64_t last_ = 0;      // freed, two seconds ago
  std::uint64_t returned_ = 0;  // of what is freed
};

}  // namespace tributary::runtime
