// Limits the cost of sending slots to readers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tributary::publish {

// The threads that fuse also serve the readers, who together get a quarter of that time. When they use more,
// readers of many slots are sent fewer until the cost fits. A reader that asks for less than its share is not
// affected. Thread-safe.
class ReaderShare {
 public:
  // `threads`: the number of threads that fuse, at least 1.
  explicit ReaderShare(std::size_t threads) : threads_(static_cast<std::int64_t>(threads)) {}

  void Join() { readers_.fetch_add(1, std::memory_order_relaxed); }
  void Leave() { readers_.fetch_sub(1, std::memory_order_relaxed); }
  std::int64_t readers() const { return readers_.load(std::memory_order_relaxed); }

  // Reports how long it took to send one slot to one reader, and the time after it (Clock::SteadyNs).
  void Spent(std::int64_t ns, std::int64_t now_steady_ns);

  // The mean time between two slots for a reader; 0: every slot.
  std::int64_t IntervalNs() const { return interval_ns_.load(std::memory_order_relaxed); }

 private:
  void Adjust(std::int64_t spent_ns, std::int64_t passed_ns);

  const std::int64_t threads_;
  std::atomic<std::int64_t> readers_ = 0;
  std::atomic<std::int64_t> spent_ns_ = 0;  // since period_begin_ns_
  std::atomic<std::int64_t> period_begin_ns_ = 0;
  std::atomic<std::int64_t> interval_ns_ = 0;
};

}  // namespace tributary::publish
