#include "core/runtime/latency.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tributary::runtime {

void LatencyHistogram::Add(std::int64_t duration_ns) {
  const std::int64_t duration = std::max<std::int64_t>(duration_ns, 0);
  ++buckets_[BucketOf(static_cast<std::uint64_t>(duration))];
  ++count_;
  sum_ns_ += static_cast<double>(duration);
  max_ns_ = std::max(max_ns_, duration);
}

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

std::int64_t LatencyHistogram::QuantileNs(double q) const {
  if (count_ == 0) return 0;
  const double rank = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_));
  const auto wanted = static_cast<std::uint64_t>(std::max(rank, 1.0));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= wanted) return std::min(static_cast<std::int64_t>(UpperBound(i)), max_ns_);
  }
  return max_ns_;
}

std::size_t LatencyHistogram::BucketOf(std::uint64_t duration_ns) {
  if (duration_ns < kSubBuckets) return static_cast<std::size_t>(duration_ns);
  const unsigned shift = static_cast<unsigned>(std::bit_width(duration_ns)) - 1 - kSubBits;
  // The leading bit is implied: `shift` picks the doubling, the next bits the bucket within it.
  return shift * kSubBuckets + static_cast<std::size_t>(duration_ns >> shift);
}

std::uint64_t LatencyHistogram::UpperBound(std::size_t bucket) {
  if (bucket < 2 * kSubBuckets) return bucket;
  const std::size_t shift = bucket / kSubBuckets - 1;
  const std::uint64_t mantissa = bucket - shift * kSubBuckets;
  return ((mantissa + 1) << shift) - 1;
}

}  // namespace tributary::runtime
