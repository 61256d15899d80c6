#include <gtest/gtest.h>

#include "core/nn/optimise/gradient_descent.h"

namespace tributary::nn {
namespace {

constexpr OneCycle kCycle{.peak = 2e-3, .steps = 1000};

TEST(OneCycleTest, RisesToThePeakAtThirtyPercentAndFallsToAlmostNothing) {
  EXPECT_DOUBLE_EQ(kCycle.Rate(0), 2e-3 / 25);
  EXPECT_DOUBLE_EQ(kCycle.Rate(300), 2e-3);
  EXPECT_NEAR(kCycle.Rate(1000), 2e-3 / 250'000, 1e-15);
  EXPECT_DOUBLE_EQ(kCycle.Rate(5000), kCycle.Rate(1000));
}

TEST(OneCycleTest, IsMonotonicOnBothSidesOfThePeak) {
  for (std::uint64_t step = 1; step <= 300; ++step) EXPECT_GT(kCycle.Rate(step), kCycle.Rate(step - 1));
  for (std::uint64_t step = 301; step <= 1000; ++step) EXPECT_LT(kCycle.Rate(step), kCycle.Rate(step - 1));
}

}  // namespace
}  // namespace tributary::nn
