#include "core/privacy/differential_privacy.h"

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

// The conversion of [Abadi16], theorem 2, which published figures use.
double ClassicEpsilon(double noise_multiplier, double sample_fraction, std::size_t rounds, double delta) {
  double best = std::numeric_limits<double>::infinity();
  for (int order = 2; order <= 256; ++order) {
    const double rdp = SampledGaussianRdp(noise_multiplier, sample_fraction, order);
    best = std::min(best, static_cast<double>(rounds) * rdp - std::log(delta) / (order - 1));
  }
  return best;
}

// [Abadi16], section 3.2: q = 0.01, σ = 4, δ = 1e-5, 10,000 steps: ε = 1.26.
TEST(PrivacySpentTest, AgreesWithTheMomentsAccountant) {
  EXPECT_NEAR(ClassicEpsilon(4, 0.01, 10'000, 1e-5), 1.26, 0.005);
}

// TensorFlow Privacy's example: batch 256 of 60,000, σ = 1.12, 60 epochs, δ = 1e-5: ε = 2.92.
TEST(PrivacySpentTest, AgreesWithTensorFlowPrivacy) {
  EXPECT_NEAR(ClassicEpsilon(1.12, 256.0 / 60'000, 14'063, 1e-5), 2.92, 0.005);
}

// [Balle20] gives a tighter bound; the values come from mpmath with 30 digits.
TEST(PrivacySpentTest, ConvertsTightly) {
  EXPECT_NEAR(*EpsilonAfter(10'000, 4, 0.01, 1e-5), 1.03549006603630, 1e-9);
  EXPECT_NEAR(*EpsilonAfter(14'063, 1.12, 256.0 / 60'000, 1e-5), 2.52155886180587, 1e-9);
  EXPECT_NEAR(*EpsilonAfter(100, 1, 0.1, 1e-5), 7.97292151038054, 1e-9);
}

// log E[(1 − q + q e^((2z − 1) / 2σ²))^α] / (α − 1) by numerical integration: no binomial formula.
TEST(PrivacySpentTest, AgreesWithTheIntegral) {
  for (const double sigma : {0.8, 1.1, 4.0}) {
    for (const double q : {0.01, 0.1, 0.7}) {
      for (const int order : {2, 5, 8}) {
        constexpr double kStep = 1e-3;
        double integral = 0;
        for (double z = -12 * sigma; z < order + 12 * sigma; z += kStep) {
          const double density = std::exp(-z * z / (2 * sigma * sigma)) / (sigma * std::sqrt(2 * M_PI));
          integral +=
              kStep * density * std::pow(1 - q + q * std::exp((2 * z - 1) / (2 * sigma * sigma)), order);
        }
        const double expected = std::log(integral) / (order - 1);
        EXPECT_NEAR(SampledGaussianRdp(sigma, q, order), expected, 1e-9 + 1e-6 * expected);
      }
    }
  }
}

// Without sampling the mechanism is the Gaussian one: α / 2σ² (Mironov 2017, corollary 3).
TEST(PrivacySpentTest, KnowsTheGaussianMechanism) {
  EXPECT_DOUBLE_EQ(SampledGaussianRdp(2, 1, 10), 10 / 8.0);
  EXPECT_NEAR(SampledGaussianRdp(2, 1 - 1e-12, 10), 10 / 8.0, 1e-9);
}

TEST(PrivacySpentTest, SpendsMoreWithEveryRoundAndLessWithMoreNoise) {
  EXPECT_EQ(*EpsilonAfter(0, 1.1, 0.5, 1e-5), 0);
  double before = 0;
  for (const std::size_t rounds : {1, 2, 10, 100}) {
    const double epsilon = *EpsilonAfter(rounds, 1.1, 0.5, 1e-5);
    EXPECT_GT(epsilon, before);
    EXPECT_LT(*EpsilonAfter(rounds, 2.2, 0.5, 1e-5), epsilon);
    EXPECT_GT(*EpsilonAfter(rounds, 1.1, 0.5, 1e-7), epsilon);
    before = epsilon;
  }
}

TEST(PrivacySpentTest, RefusesParametersWithoutMeaning) {
  EXPECT_FALSE(EpsilonAfter(1, 0, 1, 1e-5).ok());
  EXPECT_FALSE(EpsilonAfter(1, std::nan(""), 1, 1e-5).ok());
  EXPECT_FALSE(EpsilonAfter(1, 1, 0, 1e-5).ok());
  EXPECT_FALSE(EpsilonAfter(1, 1, 1.5, 1e-5).ok());
}

}  // namespace
}  // namespace tributary::privacy
