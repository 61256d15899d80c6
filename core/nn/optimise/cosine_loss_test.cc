#include "core/nn/optimise/cosine_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/nn/kernel/random_values_fixture.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kLossBatch = 3;
constexpr std::size_t kLossFeatures = 5;

double Loss(const std::vector<double>& p, const std::vector<float>& z) {
  double loss = 0;
  for (std::size_t n = 0; n < kLossBatch; ++n) {
    double product = 0, p_squares = 0, z_squares = 0;
    for (std::size_t i = n; i < p.size(); i += kLossBatch) {
      product += p[i] * z[i];
      p_squares += p[i] * p[i];
      z_squares += double{z[i]} * z[i];
    }
    loss -= product / std::sqrt(p_squares * z_squares) / double{kLossBatch};
  }
  return loss;
}

// Central differences of step h in double: error of order h², float's rounding of the result 1e-7.
TEST(CosineLossTest, GradientAgreesWithFiniteDifferences) {
  constexpr double kStep = 1e-5;
  const std::vector<float> p = RandomValues(kLossFeatures * kLossBatch, 1),
                           z = RandomValues(kLossFeatures * kLossBatch, 2);
  std::vector<float> gradient(p.size());
  std::vector<double> x(p.begin(), p.end());
  EXPECT_NEAR(CosineLoss(p, z, kLossBatch, 0.5f, gradient), Loss(x, z), 1e-12);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = x[i];
    x[i] = value + kStep;
    const double above = Loss(x, z);
    x[i] = value - kStep;
    const double below = Loss(x, z);
    x[i] = value;
    EXPECT_NEAR(gradient[i], 0.5 * (above - below) / (2 * kStep), 1e-7) << i;
  }
}

TEST(CosineLossTest, AVectorOfZerosHasNoDirection) {
  std::vector<float> p(4, 0.0f), z(4, 1.0f), gradient(4, 9.0f);
  EXPECT_EQ(CosineLoss(p, z, 2, 1.0f, gradient), 0);
  EXPECT_EQ(gradient, std::vector<float>(4, 0.0f));
}

TEST(SpreadTest, IsZeroIfAllAreEqualAndNearOneIfDirectionsAreSpread) {
  std::vector<double> norms(256);
  EXPECT_NEAR(Spread(std::vector<float>(64 * 8, 1.5f), 8, norms), 0, 1e-6);
  EXPECT_NEAR(Spread(RandomValues(64 * 256, 1), 256, norms), 1, 0.02);
}

}  // namespace
}  // namespace tributary::nn
