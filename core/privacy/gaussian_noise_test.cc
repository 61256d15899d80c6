#include "core/privacy/gaussian_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tributary::privacy {
namespace {

TEST(GaussianNoiseTest, HasTheDeviationThatWasAsked) {
  constexpr std::size_t kElements = 200'001;
  std::vector<float> values(kElements);
  ASSERT_TRUE(AddGaussianNoise(*NoiseKey(7, 1), 0.5, values).ok());
  double sum = 0, squares = 0, beyond = 0, neighbours = 0;
  for (std::size_t i = 0; i < kElements; ++i) {
    sum += values[i];
    squares += static_cast<double>(values[i]) * values[i];
    beyond += std::fabs(values[i]) > 1.0 ? 1 : 0;
    if (i > 0) neighbours += static_cast<double>(values[i]) * values[i - 1];
  }
  // Five standard errors of mean, variance, the share beyond two deviations (4.55 %) and the correlation.
  const double n = kElements;
  EXPECT_NEAR(sum / n, 0, 5 * 0.5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 0.25, 5 * 0.25 * std::sqrt(2 / n));
  EXPECT_NEAR(beyond / n, 0.0455, 5 * std::sqrt(0.0455 * 0.9545 / n));
  EXPECT_NEAR(neighbours / n, 0, 5 * 0.25 / std::sqrt(n));
}

TEST(GaussianNoiseTest, IsEqualForEqualSeedsAndRoundsOnly) {
  const auto noise = [](std::uint64_t seed, std::uint32_t round) {
    std::vector<float> values(9);
    EXPECT_TRUE(AddGaussianNoise(*NoiseKey(seed, round), 1, values).ok());
    return values;
  };
  EXPECT_EQ(noise(7, 1), noise(7, 1));
  EXPECT_NE(noise(7, 1), noise(7, 2));
  EXPECT_NE(noise(7, 1), noise(8, 1));
  EXPECT_NE(noise(0, 1), noise(0, 1));  // fresh entropy
}

TEST(GaussianNoiseTest, RefusesDeviationsWithoutMeaning) {
  std::vector<float> values(2);
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(AddGaussianNoise(*NoiseKey(1, 1), bad, values).ok());
  }
  EXPECT_EQ(values, std::vector<float>(2));
}

TEST(ClipFactorTest, BringsTheNormToTheBound) {
  EXPECT_EQ(ClipFactor(25, 0), 1);
  EXPECT_EQ(ClipFactor(25, 5), 1);
  EXPECT_DOUBLE_EQ(ClipFactor(25, 1), 0.2);
}

}  // namespace
}  // namespace tributary::privacy
