// What sending slots to readers may cost.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tributary {

// Readers are served by the threads that fuse. However many there are, together they get a share of that
// time: each is then sent fewer slots, and what it is not sent is counted as skipped. Thread-safe.
class ReaderShare {
 public:
  // `threads`: how many fuse, at least 1.
  explicit ReaderShare(std::size_t threads) : threads_(static_cast<std::int64_t>(threads)) {}

  void Join() { readers_.fetch_add(1, std::memory_order_relaxed); }
  void Leave() { readers_.fetch_sub(1, std::memory_order_relaxed); }
  std::int64_t readers() const { return readers_.load(std::memory_order_relaxed); }

  // Told how long it took to send one slot to one reader.
  void Spent(std::int64_t ns) {
    // A thread that lost its core in the middle says nothing about the cost.
    const std::int64_t sample = std::clamp<std::int64_t>(ns, 0, kMaxCostNs);
    const std::int64_t mean = mean_cost_ns_.load(std::memory_order_relaxed);
    mean_cost_ns_.store(mean + (sample - mean) / kSamples, std::memory_order_relaxed);
  }

  // The time between two slots at which every reader gets the same and all together keep to the share.
  std::int64_t IntervalNs() const {
    return readers() * mean_cost_ns_.load(std::memory_order_relaxed) * kInverseShare / threads_;
  }

 private:
  static constexpr std::int64_t kInverseShare = 4;  // a quarter of the time
  static constexpr std::int64_t kSamples = 64;      // that the mean cost is taken over
  static constexpr std::int64_t kMaxCostNs = 500'000;

  const std::int64_t threads_;
  std::atomic<std::int64_t> readers_ = 0;
  std::atomic<std::int64_t> mean_cost_ns_ = 10'000;
};

}  // namespace tributary
