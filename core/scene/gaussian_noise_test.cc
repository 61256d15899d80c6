#include "core/scene/gaussian_noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tributary::scene {
namespace {

constexpr std::size_t kCount = 1 << 18;

std::vector<float> Noise(std::uint64_t seed, std::uint64_t stream, std::size_t count = kCount) {
  std::vector<float> noise(count);
  FillGaussianNoise(seed, stream, noise);
  return noise;
}

double MeanOfProducts(const std::vector<float>& a, const std::vector<float>& b, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = lag; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i - lag];
  return sum / static_cast<double>(a.size() - lag);
}

// Five standard errors: 1/√n for the mean and for correlations, √(2/n) for the variance, √(96/n) for the
// fourth moment.
TEST(GaussianNoiseTest, HasTheMomentsOfTheStandardNormal) {
  const std::vector<float> noise = Noise(1, 2);
  double mean = 0, fourth = 0;
  for (const float x : noise) {
    mean += x / static_cast<double>(kCount);
    fourth += std::pow(x, 4) / static_cast<double>(kCount);
  }
  const double n = kCount;
  EXPECT_NEAR(mean, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(MeanOfProducts(noise, noise, 0), 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth, 3, 5 * std::sqrt(96 / n));
}

TEST(GaussianNoiseTest, IsUncorrelatedWithinAndAcrossStreams) {
  const std::vector<float> noise = Noise(1, 2);
  const double bound = 5 / std::sqrt(static_cast<double>(kCount));
  for (const std::size_t lag : {1, 2, 3, 8, 512})
    EXPECT_NEAR(MeanOfProducts(noise, noise, lag), 0, bound) << lag;
  EXPECT_NEAR(MeanOfProducts(noise, Noise(1, 3), 0), 0, bound);
  EXPECT_NEAR(MeanOfProducts(noise, Noise(2, 2), 0), 0, bound);
}

TEST(GaussianNoiseTest, DependsOnlyOnSeedStreamAndPlace) {
  const std::vector<float> all = Noise(7, 9, 1000);
  for (const std::size_t count : {0, 1, 2, 31, 33, 999}) {
    const std::vector<float> some = Noise(7, 9, count);
    EXPECT_TRUE(std::ranges::equal(some, std::span(all).first(count))) << count;
  }
}

}  // namespace
}  // namespace tributary::scene
