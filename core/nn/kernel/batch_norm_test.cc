#include "core/nn/kernel/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/nn/kernel/random_values_fixture.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kFeatures = 3;
constexpr std::size_t kBatch = 8;

// Σ weight · y of one feature, in double, as a function of its inputs.
double WeightedOutput(const std::vector<double>& x, double gamma, double beta, const float* weight) {
  double mean = 0, variance = 0, sum = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += weight[i] * (gamma * (x[i] - mean) / std::sqrt(variance + BatchNorm::kEpsilon) + beta);
  }
  return sum;
}

class BatchNormTest : public ::testing::Test {
 protected:
  BatchNorm norm_{kFeatures, kBatch, /*momentum=*/0.5f};
  std::vector<float> gamma_ = {1.5f, -0.5f, 2.0f};
  std::vector<float> beta_ = {0.1f, 0.2f, -0.3f};
  std::vector<float> input_ = RandomValues(kFeatures * kBatch, 1, 2.0f);
};

TEST_F(BatchNormTest, NormalisesEachFeatureOverTheBatch) {
  std::vector<float> values = input_;
  norm_.TrainForward(gamma_, beta_, kBatch, values.data());
  for (std::size_t f = 0; f < kFeatures; ++f) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < kBatch; ++i) mean += values[f * kBatch + i] / double{kBatch};
    for (std::size_t i = 0; i < kBatch; ++i)
      variance += std::pow(values[f * kBatch + i] - mean, 2) / double{kBatch};
    EXPECT_NEAR(mean, beta_[f], 1e-6);
    EXPECT_NEAR(std::sqrt(variance), std::abs(gamma_[f]), 1e-4);  // kEpsilon takes a little
  }
}

// Central differences of step h in double: error h² times the third derivative, far below float's 1e-6 of the
// sums.
TEST_F(BatchNormTest, GradientsAgreeWithFiniteDifferences) {
  constexpr double kStep = 1e-5;
  constexpr double kTolerance = 2e-5;
  const std::vector<float> weight = RandomValues(kFeatures * kBatch, 2);
  std::vector<float> values = input_;
  norm_.TrainForward(gamma_, beta_, kBatch, values.data());
  std::vector<float> gradient = weight, gamma_gradient(kFeatures), beta_gradient(kFeatures);
  norm_.Backward(gamma_, kBatch, gradient.data(), gamma_gradient, beta_gradient);

  for (std::size_t f = 0; f < kFeatures; ++f) {
    const std::vector<double> x(input_.begin() + f * kBatch, input_.begin() + (f + 1) * kBatch);
    const float* w = weight.data() + f * kBatch;
    const auto output = [&](double gamma, double beta) { return WeightedOutput(x, gamma, beta, w); };
    EXPECT_NEAR(gamma_gradient[f],
                (output(gamma_[f] + kStep, beta_[f]) - output(gamma_[f] - kStep, beta_[f])) / (2 * kStep),
                kTolerance);
    EXPECT_NEAR(beta_gradient[f],
                (output(gamma_[f], beta_[f] + kStep) - output(gamma_[f], beta_[f] - kStep)) / (2 * kStep),
                kTolerance);
    for (std::size_t i = 0; i < kBatch; ++i) {
      std::vector<double> up = x, down = x;
      up[i] += kStep;
      down[i] -= kStep;
      const double slope =
          (WeightedOutput(up, gamma_[f], beta_[f], w) - WeightedOutput(down, gamma_[f], beta_[f], w)) /
          (2 * kStep);
      EXPECT_NEAR(gradient[f * kBatch + i], slope, kTolerance);
    }
  }
}

TEST_F(BatchNormTest, FoldsTheRunningStatisticsIntoScaleAndShift) {
  std::vector<float> values;
  for (int i = 0; i < 40; ++i) {  // momentum 1/2: the start has faded to 2^-40
    values = input_;
    norm_.TrainForward(gamma_, beta_, kBatch, values.data());
  }
  std::vector<float> scale(kFeatures), shift(kFeatures);
  norm_.Fold(gamma_, beta_, scale, shift);
  for (std::size_t f = 0; f < kFeatures; ++f) {
    // The running variance is the unbiased one: n / (n - 1) of the batch's.
    const double ratio = std::sqrt(double{kBatch} / (kBatch - 1));
    for (std::size_t i = f * kBatch; i < (f + 1) * kBatch; ++i) {
      EXPECT_NEAR((input_[i] * scale[f] + shift[f] - beta_[f]) * ratio, values[i] - beta_[f], 1e-4);
    }
  }
}

}  // namespace
}  // namespace tributary::nn
