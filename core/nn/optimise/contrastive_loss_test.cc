#include "core/nn/optimise/contrastive_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/nn/kernel/random_values_fixture.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kContrastBatch = 4;
constexpr std::size_t kContrastWidth = 5;
constexpr double kTemperatureOfTest = 0.3;

// Both views one behind the other, [2][width × batch].
double ContrastOf(const std::vector<double>& z) {
  const std::size_t views = 2 * kContrastBatch;
  const auto product = [&](std::size_t i, std::size_t j) {
    double sum = 0;
    for (std::size_t f = 0; f < kContrastWidth; ++f) {
      const auto at = [&](std::size_t view) {
        return z[(view / kContrastBatch * kContrastWidth + f) * kContrastBatch + view % kContrastBatch];
      };
      sum += at(i) * at(j);
    }
    return sum;
  };
  double loss = 0;
  for (std::size_t i = 0; i < views; ++i) {
    double total = 0, positive = 0;
    for (std::size_t j = 0; j < views; ++j) {
      if (i == j) continue;
      const double cosine = product(i, j) / std::sqrt(product(i, i) * product(j, j));
      total += std::exp(cosine / kTemperatureOfTest);
      if (j == (i + kContrastBatch) % views) positive = cosine;
    }
    loss += 2 * kTemperatureOfTest * (std::log(total) - positive / kTemperatureOfTest) /
            double{2 * kContrastBatch};
  }
  return loss;
}

TEST(ContrastiveLossTest, GradientAgreesWithFiniteDifferences) {
  constexpr double kStep = 1e-5;  // central differences in double: error of order h²
  const std::size_t size = kContrastWidth * kContrastBatch;
  const std::vector<float> z = RandomValues(2 * size, 1);
  std::vector<float> gradient(2 * size);
  ContrastiveLoss loss(kContrastWidth, kContrastBatch);
  const std::span<const float> values(z);
  const std::span<float> gradients(gradient);
  std::vector<double> x(z.begin(), z.end());
  // Twice: nothing stays from the first call.
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(loss.Compute(values.first(size), values.subspan(size), kTemperatureOfTest,
                             gradients.first(size), gradients.subspan(size)),
                ContrastOf(x), 1e-6);
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = x[i];
    x[i] = value + kStep;
    const double above = ContrastOf(x);
    x[i] = value - kStep;
    const double below = ContrastOf(x);
    x[i] = value;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-5) << i;
  }
}

// All views alike: none finds its other one, and nothing says which way to go.
TEST(ContrastiveLossTest, IsTheLogarithmOfTheOthersWhereAllViewsAreAlike) {
  std::vector<float> z(kContrastWidth * kContrastBatch, 1.0f), g1(z.size()), g2(z.size());
  ContrastiveLoss loss(kContrastWidth, kContrastBatch);
  EXPECT_NEAR(loss.Compute(z, z, 0.5, g1, g2), 2 * 0.5 * std::log(2.0 * kContrastBatch - 1), 1e-6);
  for (const float value : g1) EXPECT_NEAR(value, 0, 1e-6);
}

TEST(ContrastiveLossTest, ProjectionsOfZerosHaveNoGradient) {
  std::vector<float> z(kContrastWidth * kContrastBatch, 0.0f), g1(z.size(), 1.0f), g2(z.size(), 1.0f);
  ContrastiveLoss loss(kContrastWidth, kContrastBatch);
  EXPECT_TRUE(std::isfinite(loss.Compute(z, z, 0.2, g1, g2)));
  for (const float value : g1) EXPECT_EQ(value, 0);
}

}  // namespace
}  // namespace tributary::nn
