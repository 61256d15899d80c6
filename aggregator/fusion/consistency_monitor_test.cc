#include "aggregator/fusion/consistency_monitor.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

namespace tributary::fusion {
namespace {

TEST(ConsistencyMonitorTest, CountsTheTuplesBehindItsMean) {
  ConsistencyMonitor monitor(2);
  EXPECT_FALSE(monitor.Band(3).has_value()) << "not measured";
  monitor.Add(3, 20, 10);
  EXPECT_EQ(monitor.mean(3), 1);
  EXPECT_EQ(monitor.Band(3)->tuples, 10);
  EXPECT_FALSE(monitor.Band(2).has_value());
  monitor.Forget(3);
  EXPECT_FALSE(monitor.Band(3).has_value());
}

// Weights (1 - 1/4096)^k: (Σ w)² / Σ w² tends to 2 · 4096 - 1.
TEST(ConsistencyMonitorTest, AnExponentialMeanIsAsExactAsTwoWindows) {
  ConsistencyMonitor monitor(2);
  for (int i = 0; i < 100'000; ++i) monitor.Add(0, 2, 1);
  EXPECT_NEAR(monitor.Band(0)->tuples, 8191, 1e-3);
  EXPECT_NEAR(monitor.mean(0), 1, 1e-9);
}

TEST(ConsistencyMonitorTest, ASlotLargerThanTheWindowCountsAlone) {
  ConsistencyMonitor monitor(1);
  monitor.Add(0, 5000, 5000);
  monitor.Add(0, 5000, 5000);
  EXPECT_EQ(monitor.Band(0)->tuples, 5000);
}

// Half the squared distance of a consistent source in two dimensions is an exponential variable of mean 1.
TEST(ConsistencyMonitorTest, OneConsistentSourceInAThousandIsOutsideOfItsBand) {
  std::mt19937_64 random(29);
  std::exponential_distribution<double> half_distance;
  constexpr int kSources = 4000, kTuples = 50;
  int outside = 0;
  for (int source = 0; source < kSources; ++source) {
    ConsistencyMonitor monitor(2);
    for (int i = 0; i < kTuples; ++i) monitor.Add(0, 2 * half_distance(random), 1);
    const std::optional<estimate::ConsistencyBand> band = monitor.Band(0);
    outside += monitor.mean(0) < band->low || monitor.mean(0) > band->high;
  }
  // Poisson with mean 4: between 1 and 13 but for one seed in fifty.
  EXPECT_GE(outside, 1);
  EXPECT_LE(outside, 13);
}

}  // namespace
}  // namespace tributary::fusion
