// What sending slots to readers may cost.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tributary::publish {

// Readers are served by the threads that fuse. However many there are, together they get a quarter of that
// time: once they take more, those that ask for many slots are sent fewer, until the cost fits. A reader that
// asks for less than its share is not touched. Thread-safe.
class ReaderShare {
 public:
  // `threads`: how many fuse, at least 1.
  explicit ReaderShare(std::size_t threads) : threads_(static_cast<std::int64_t>(threads)) {}

  void Join() { readers_.fetch_add(1, std::memory_order_relaxed); }
  void Leave() { readers_.fetch_sub(1, std::memory_order_relaxed); }
  std::int64_t readers() const { return readers_.load(std::memory_order_relaxed); }

  // Told how long it took to send one slot to one reader, and the time after it (Clock::SteadyNs).
  void Spent(std::int64_t ns, std::int64_t now_steady_ns);

  // The mean time between two slots that a reader may be sent; 0: every slot.
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
