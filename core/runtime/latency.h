// Quantiles of millions of durations: a histogram with logarithmic buckets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::runtime {

// One thread's; merge when the threads are done. 14 KiB, allocates nothing.
class LatencyHistogram {
 public:
  // Negative durations (the clock stepped back) count as 0.
  void Add(std::int64_t duration_ns);
  void Merge(const LatencyHistogram& other);

  std::uint64_t count() const { return count_; }
  double mean_ns() const { return count_ == 0 ? 0 : sum_ns_ / static_cast<double>(count_); }
  std::int64_t max_ns() const { return max_ns_; }

  // The smallest duration that a fraction `q` of all does not exceed, rounded up by 3 % at most; 0 if there
  // are none.
  std::int64_t QuantileNs(double q) const;

 private:
  // 32 buckets to each doubling from 32 ns on; below, one per nanosecond.
  static constexpr unsigned kSubBits = 5;
  static constexpr std::size_t kSubBuckets = std::size_t{1} << kSubBits;
  static constexpr std::size_t kBuckets = (64 - kSubBits) * kSubBuckets;

  static std::size_t BucketOf(std::uint64_t duration_ns);
  static std::uint64_t UpperBound(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> buckets_ = {};
  std::uint64_t count_ = 0;
  double sum_ns_ = 0;
  std::int64_t max_ns_ = 0;
};

}  // namespace tributary::runtime
