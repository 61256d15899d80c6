#include "core/runtime/latency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tributary::runtime {
namespace {

TEST(LatencyHistogramTest, IsEmptyAtFirst) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.QuantileNs(0.5), 0);
  EXPECT_EQ(histogram.mean_ns(), 0);
}

TEST(LatencyHistogramTest, IsExactBelow64Nanoseconds) {
  LatencyHistogram histogram;
  for (int i = 0; i < 64; ++i) histogram.Add(i);
  EXPECT_EQ(histogram.QuantileNs(0.5), 31);
  EXPECT_EQ(histogram.QuantileNs(1.0), 63);
  EXPECT_EQ(histogram.QuantileNs(0.0), 0);
}

TEST(LatencyHistogramTest, RoundsQuantilesUpByAtMostOneBucket) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> duration(10, 3);
  std::vector<std::int64_t> all;
  LatencyHistogram histogram;
  for (int i = 0; i < 10000; ++i) {
    all.push_back(static_cast<std::int64_t>(duration(random)));
    histogram.Add(all.back());
  }
  std::sort(all.begin(), all.end());
  for (const double q : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const double exact = static_cast<double>(all[static_cast<std::size_t>(q * 10000) - 1]);
    EXPECT_GE(static_cast<double>(histogram.QuantileNs(q)), exact) << q;
    EXPECT_LE(static_cast<double>(histogram.QuantileNs(q)), exact * (1 + 1.0 / 32)) << q;
  }
}

TEST(LatencyHistogramTest, TakesAnyDuration) {
  LatencyHistogram histogram;
  histogram.Add(INT64_MIN);
  histogram.Add(INT64_MAX);
  EXPECT_EQ(histogram.QuantileNs(0.5), 0);
  EXPECT_EQ(histogram.QuantileNs(1.0), INT64_MAX);
}

TEST(LatencyHistogramTest, MergesAsIfOneHadSeenAll) {
  LatencyHistogram a, b, both;
  for (int i = 0; i < 1000; ++i) {
    (i % 3 == 0 ? a : b).Add(i * 1000);
    both.Add(i * 1000);
  }
  a.Merge(b);
  EXPECT_EQ(a.count(), both.count());
  EXPECT_EQ(a.QuantileNs(0.7), both.QuantileNs(0.7));
  EXPECT_EQ(a.max_ns(), both.max_ns());
}

}  // namespace
}  // namespace tributary::runtime
