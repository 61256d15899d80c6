#include "core/privacy/rdp_accountant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tributary::privacy {
namespace {

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
TEST(RdpAccountantTest, AgreesWithTheMomentsAccountant) {
  EXPECT_NEAR(ClassicEpsilon(4, 0.01, 10'000, 1e-5), 1.26, 0.005);
}

// TensorFlow Privacy's example: batch 256 of 60,000, σ = 1.12, 60 epochs, δ = 1e-5: ε = 2.92.
TEST(RdpAccountantTest, AgreesWithTensorFlowPrivacy) {
  EXPECT_NEAR(ClassicEpsilon(1.12, 256.0 / 60'000, 14'063, 1e-5), 2.92, 0.005);
}

// [Balle20] gives a tighter bound; the values come from mpmath with 30 digits.
TEST(RdpAccountantTest, ConvertsTightly) {
  EXPECT_NEAR(RdpAccountant::Create(4, 0.01)->Epsilon(10'000, 1e-5), 1.03549006603630, 1e-9);
  EXPECT_NEAR(RdpAccountant::Create(1.12, 256.0 / 60'000)->Epsilon(14'063, 1e-5), 2.52155886180587, 1e-9);
  EXPECT_NEAR(RdpAccountant::Create(1, 0.1)->Epsilon(100, 1e-5), 7.97292151038054, 1e-9);
}

// log E[(1 − q + q e^((2z − 1) / 2σ²))^α] / (α − 1) by numerical integration: no binomial formula.
TEST(RdpAccountantTest, AgreesWithTheIntegral) {
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
TEST(RdpAccountantTest, KnowsTheGaussianMechanism) {
  EXPECT_DOUBLE_EQ(SampledGaussianRdp(2, 1, 10), 10 / 8.0);
  EXPECT_NEAR(SampledGaussianRdp(2, 1 - 1e-12, 10), 10 / 8.0, 1e-9);
}

TEST(RdpAccountantTest, SpendsMoreWithEveryRoundAndLessWithMoreNoise) {
  const auto accountant = RdpAccountant::Create(1.1, 0.5);
  EXPECT_EQ(accountant->Epsilon(0, 1e-5), 0);
  double before = 0;
  for (const std::size_t rounds : {1, 2, 10, 100}) {
    const double epsilon = accountant->Epsilon(rounds, 1e-5);
    EXPECT_GT(epsilon, before);
    EXPECT_LT(RdpAccountant::Create(2.2, 0.5)->Epsilon(rounds, 1e-5), epsilon);
    EXPECT_GT(accountant->Epsilon(rounds, 1e-7), epsilon);
    before = epsilon;
  }
}

TEST(RdpAccountantTest, RefusesParametersWithoutMeaning) {
  EXPECT_FALSE(RdpAccountant::Create(0, 1).ok());
  EXPECT_FALSE(RdpAccountant::Create(std::nan(""), 1).ok());
  EXPECT_FALSE(RdpAccountant::Create(1, 0).ok());
  EXPECT_FALSE(RdpAccountant::Create(1, 1.5).ok());
}

}  // namespace
}  // namespace tributary::privacy
