#include "core/nn/optimise/gaussian_nll.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace tributary::nn {
namespace {

using Outputs = std::array<double, kGaussianOutputs>;
using Target = std::array<double, 2>;

TEST(GaussianNllTest, IsTheDensityOfTheStandardNormalAtItsMean) {
  const double raw_one = std::log(std::expm1(1.0 - kDiagonalFloor));
  const Outputs outputs = {2, 3, raw_one, 0, raw_one};
  Outputs gradient;
  EXPECT_NEAR(GaussianNll(outputs, Target{2, 3}, gradient), std::log(2 * std::numbers::pi), 1e-12);
  EXPECT_NEAR(GaussianNll(outputs, Target{3, 3}, gradient), std::log(2 * std::numbers::pi) + 0.5, 1e-12);
}

// Central differences of step 1e-5: error about 1e-10 of the third derivative plus 1e-11 of rounding, here
// below 1e-6.
TEST(GaussianNllTest, GradientAgreesWithFiniteDifferences) {
  constexpr double kStep = 1e-5;
  const Outputs cases[] = {
      {0.3, -0.2, -1.0, 0.4, 0.5}, {-4, 2, 3, -2, -2}, {1, 1, 0, 0, 0}, {0, 0, 20, 5, -3}};
  for (const Outputs& outputs : cases) {
    const Target target = {0.1, 0.25};
    Outputs gradient, ignored;
    GaussianNll(outputs, target, gradient);
    for (std::size_t k = 0; k < kGaussianOutputs; ++k) {
      Outputs up = outputs, down = outputs;
      up[k] += kStep;
      down[k] -= kStep;
      const double slope =
          (GaussianNll(up, target, ignored) - GaussianNll(down, target, ignored)) / (2 * kStep);
      EXPECT_NEAR(gradient[k], slope, 1e-6 * std::max(1.0, std::abs(slope))) << k;
    }
  }
}

TEST(GaussianNllTest, StaysFiniteForExtremeOutputs) {
  for (const double raw : {-800.0, 800.0}) {
    const Outputs outputs = {0, 0, raw, 0, raw};
    Outputs gradient;
    EXPECT_TRUE(std::isfinite(GaussianNll(outputs, Target{0.5, -0.5}, gradient)));
    for (const double slope : gradient) EXPECT_TRUE(std::isfinite(slope));
    EXPECT_GE(GaussianHead(outputs).cholesky[0], kDiagonalFloor);
  }
}

TEST(GaussianNllTest, BatchIsTheMeanOfItsSamples) {
  const std::vector<float> outputs = {0.5f, -1,   0.25f,  2, 0,
                                      -1,   0.5f, 0.125f, 1, 0};  // feature-major, batch 2
  const std::vector<float> targets = {0, 0, 1, 1};
  std::vector<float> gradient(outputs.size());
  const double loss = GaussianNllBatch(outputs, targets, gradient);
  double expected = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    Outputs sample, slope;
    for (std::size_t k = 0; k < kGaussianOutputs; ++k) sample[k] = outputs[2 * k + i];
    expected += GaussianNll(sample, Target{targets[2 * i], targets[2 * i + 1]}, slope) / 2;
    for (std::size_t k = 0; k < kGaussianOutputs; ++k)
      EXPECT_FLOAT_EQ(gradient[2 * k + i], static_cast<float>(slope[k] / 2));
  }
  EXPECT_DOUBLE_EQ(loss, expected);
}

}  // namespace
}  // namespace tributary::nn
