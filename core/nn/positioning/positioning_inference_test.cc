#include "core/nn/positioning/positioning_inference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/nn/kernel/random_values_fixture.h"
#include "core/nn/positioning/positioning_trainer.h"

namespace tributary::nn {
namespace {

constexpr auto kWidths = PositioningNetwork::kWidths;

PositioningNetwork RandomNetwork() {
  PositioningNetwork network;
  network.input_mean = RandomValues(kWidths[0], 1, 0.1f);
  network.input_inverse_deviation = RandomValues(kWidths[0], 2);
  for (std::size_t l = 0; l < network.weights.size(); ++l) {
    network.weights[l] = RandomValues(kWidths[l] * kWidths[l + 1], 3 + static_cast<unsigned>(l),
                                      1.0f / std::sqrt(static_cast<float>(kWidths[l])));
  }
  network.batch_norm_scale = RandomValues(kWidths[1], 7);
  network.batch_norm_shift = RandomValues(kWidths[1], 8);
  return network;
}

// One sample, layer by layer, in double.
std::vector<double> ReferenceOutputs(const PositioningNetwork& network, std::vector<float> features) {
  AlignPhase(network.alignment, FeatureSpan(features.data(), kWidths[0]));
  Standardise(network, FeatureSpan(features.data(), kWidths[0]));
  std::vector<double> x(features.begin(), features.end());
  for (std::size_t l = 0; l < 4; ++l) {
    std::vector<double> y(kWidths[l + 1], 0.0);
    for (std::size_t o = 0; o < y.size(); ++o) {
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += double{network.weights[l][o * x.size() + i]} * x[i];
      if (l < 3) y[o] = std::max(y[o], 0.0);
      if (l == 0) y[o] = y[o] * network.batch_norm_scale[o] + network.batch_norm_shift[o];
    }
    x = std::move(y);
  }
  return x;
}

class PositioningInferenceTest : public ::testing::Test {
 protected:
  PositioningInference inference_{RandomNetwork(), 7};
};

// Values are of order 1; single precision leaves 1e-7 times the square root of some thousand operations,
// times a margin.
TEST_F(PositioningInferenceTest, AgreesWithTheDefinitionForEveryBatchSize) {
  const std::vector<float> features = RandomValues(7 * kWidths[0], 9);
  for (std::size_t batch = 1; batch <= 7; ++batch) {
    std::vector<float> outputs(batch * kGaussianOutputs);
    inference_.Run(std::span(features).first(batch * kWidths[0]), batch, outputs);
    for (std::size_t i = 0; i < batch; ++i) {
      const std::vector<float> sample(features.begin() + i * kWidths[0],
                                      features.begin() + (i + 1) * kWidths[0]);
      const std::vector<double> expected = ReferenceOutputs(inference_.network(), sample);
      for (std::size_t k = 0; k < kGaussianOutputs; ++k) {
        EXPECT_NEAR(outputs[i * kGaussianOutputs + k], expected[k], 2e-5);
      }
    }
  }
}

TEST_F(PositioningInferenceTest, DoesNotDependOnACommonPhase) {
  const std::vector<float> features = RandomValues(kWidths[0], 10);
  std::vector<float> turned(features.size());
  for (std::size_t i = 0; i < kWidths[0] / 2; ++i) {  // by 90 degrees
    turned[i] = -features[i + kWidths[0] / 2];
    turned[i + kWidths[0] / 2] = features[i];
  }
  std::array<float, kGaussianOutputs> a, b;
  inference_.Run(features, 1, a);
  inference_.Run(turned, 1, b);
  for (std::size_t k = 0; k < kGaussianOutputs; ++k) EXPECT_NEAR(a[k], b[k], 2e-5);
}

TEST_F(PositioningInferenceTest, ShowsTheActivationsOfTheLastRun) {
  const std::vector<float> features = RandomValues(2 * kWidths[0], 11);
  std::array<float, 2 * kGaussianOutputs> outputs;
  inference_.Run(features, 2, outputs);
  const auto activations = inference_.activations();
  EXPECT_EQ(activations[0].size(), 2 * kWidths[0]);
  EXPECT_EQ(activations[3].size(), 2 * kWidths[2]);
  EXPECT_GE(std::ranges::min(activations[1]), 0);
  for (std::size_t k = 0; k < kGaussianOutputs; ++k)
    EXPECT_EQ(activations[5][2 * k + 1], outputs[kGaussianOutputs + k]);
}

TEST(PositionFromOutputsTest, ScalesTheCholeskyFactorAndNotTheMean) {
  PositioningNetwork network;
  network.covariance_scale = 0.5f;
  const std::array<float, kGaussianOutputs> outputs = {1, -2, 0, 0.25f, 3};
  const GaussianPosition position = PositionFromOutputs(network, outputs);
  EXPECT_EQ(position.mean[0], 1);
  EXPECT_EQ(position.mean[1], -2);
  EXPECT_DOUBLE_EQ(position.cholesky[0], 0.5 * (std::log(2.0) + kDiagonalFloor));
  EXPECT_DOUBLE_EQ(position.cholesky[1], 0.125);
  EXPECT_DOUBLE_EQ(position.cholesky[2], 0.5 * (Softplus(3) + kDiagonalFloor));
}

}  // namespace
}  // namespace tributary::nn
