#include "core/nn/positioning/positioning_trainer.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "core/nn/kernel/random_values_fixture.h"
#include "core/nn/optimise/gaussian_nll.h"
#include "core/nn/positioning/positioning_inference.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kTrainingBatch = 8;

using Layer = std::vector<std::vector<double>>;  // [batch][width]

Layer Dense(const Layer& x, const double* weights, std::size_t outputs, bool rectified) {
  Layer y;
  for (const auto& sample : x) {
    auto& row = y.emplace_back(outputs, 0.0);
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < sample.size(); ++i) row[o] += weights[o * sample.size() + i] * sample[i];
      if (rectified) row[o] = std::max(row[o], 0.0);
    }
  }
  return y;
}

void Normalise(Layer& x, const double* gamma, const double* beta) {
  const double count = static_cast<double>(x.size());
  for (std::size_t f = 0; f < x[0].size(); ++f) {
    double mean = 0, variance = 0;
    for (const auto& sample : x) mean += sample[f] / count;
    for (const auto& sample : x) variance += (sample[f] - mean) * (sample[f] - mean) / count;
    for (auto& sample : x)
      sample[f] = gamma[f] * (sample[f] - mean) / std::sqrt(variance + BatchNorm::kEpsilon) + beta[f];
  }
}

void ScaleAndShift(Layer& x, const double* scale, const double* shift) {
  for (auto& sample : x) {
    for (std::size_t f = 0; f < sample.size(); ++f) sample[f] = scale[f] * sample[f] + shift[f];
  }
}

// The loss of the whole network in double, straight from its definition. `further`: its norm is in the
// inference form.
double ReferenceLoss(const std::vector<double>& p, const std::vector<float>& features,
                     const std::vector<float>& targets, bool further = false) {
  Layer x;
  for (std::size_t i = 0; i < kTrainingBatch; ++i) {
    x.emplace_back(features.begin() + i * PositioningNetwork::kWidths[0],
                   features.begin() + (i + 1) * PositioningNetwork::kWidths[0]);
  }
  const double* w1 = p.data();
  const double* w2 = w1 + PositioningNetwork::kWidths[0] * PositioningNetwork::kWidths[1];
  const double* w3 = w2 + PositioningNetwork::kWidths[1] * PositioningNetwork::kWidths[2];
  const double* w4 = w3 + PositioningNetwork::kWidths[2] * PositioningNetwork::kWidths[3];
  const double* beta = w4 + PositioningNetwork::kWidths[3] * PositioningNetwork::kWidths[4];
  Layer y = Dense(x, w1, PositioningNetwork::kWidths[1], true);
  (further ? ScaleAndShift : Normalise)(y, beta + PositioningNetwork::kWidths[1], beta);
  y = Dense(
      Dense(Dense(y, w2, PositioningNetwork::kWidths[2], true), w3, PositioningNetwork::kWidths[3], true), w4,
      PositioningNetwork::kWidths[4], false);
  double loss = 0;
  for (std::size_t i = 0; i < kTrainingBatch; ++i) {
    std::array<double, kGaussianOutputs> outputs, ignored;
    std::copy_n(y[i].begin(), kGaussianOutputs, outputs.begin());
    loss += GaussianNll(outputs, std::array<double, 2>{targets[2 * i], targets[2 * i + 1]}, ignored) /
            kTrainingBatch;
  }
  return loss;
}

class PositioningTrainerTest : public ::testing::Test {
 protected:
  PositioningTrainer trainer_{{.batch = kTrainingBatch, .steps = 300, .peak_learning_rate = 5e-3, .seed = 3}};
  std::vector<float> features_ = RandomValues(kTrainingBatch * PositioningNetwork::kWidths[0], 1);
  std::vector<float> targets_ = RandomValues(kTrainingBatch * 2, 2);
};

// Every kind of parameter: some of each layer and of the norm. Tolerance: single precision, 1e-7 times some
// thousand operations, of the layer's largest gradient.
void ExpectGradientOfTheReference(PositioningTrainer& trainer, const std::vector<float>& features,
                                  const std::vector<float>& targets, bool further) {
  const double loss = trainer.Gradient(features, targets);
  const auto gradient = trainer.gradient();
  std::vector<double> parameters(trainer.parameters().begin(), trainer.parameters().end());
  EXPECT_NEAR(loss, ReferenceLoss(parameters, features, targets, further), 1e-5);

  std::size_t first = 0;
  for (const std::size_t count : {PositioningNetwork::kWidths[0] * PositioningNetwork::kWidths[1],
                                  PositioningNetwork::kWidths[1] * PositioningNetwork::kWidths[2],
                                  PositioningNetwork::kWidths[2] * PositioningNetwork::kWidths[3],
                                  PositioningNetwork::kWidths[3] * PositioningNetwork::kWidths[4],
                                  PositioningNetwork::kWidths[1], PositioningNetwork::kWidths[1]}) {
    double largest = 0;
    for (std::size_t i = first; i < first + count; ++i)
      largest = std::max(largest, std::abs(double{gradient[i]}));
    ASSERT_GT(largest, 0);
    for (std::size_t probe = 0; probe < 6; ++probe) {
      const std::size_t index = first + probe * 7919 % count;
      constexpr double kStep = 1e-6;
      const double value = parameters[index];
      parameters[index] = value + kStep;
      const double up = ReferenceLoss(parameters, features, targets, further);
      parameters[index] = value - kStep;
      const double down = ReferenceLoss(parameters, features, targets, further);
      parameters[index] = value;
      EXPECT_NEAR(gradient[index], (up - down) / (2 * kStep), 1e-3 * largest) << index;
    }
    first += count;
  }
  EXPECT_EQ(first, parameters.size());
}

TEST_F(PositioningTrainerTest, GradientAgreesWithFiniteDifferences) {
  ExpectGradientOfTheReference(trainer_, features_, targets_, false);
}

TEST_F(PositioningTrainerTest, GradientOfTrainingFurtherAgreesWithFiniteDifferences) {
  PositioningNetwork network;
  trainer_.Export(network);
  network.batch_norm_scale = RandomValues(PositioningNetwork::kWidths[1], 3);
  network.batch_norm_shift = RandomValues(PositioningNetwork::kWidths[1], 4);
  PositioningTrainer further({.batch = kTrainingBatch, .from = &network});
  ExpectGradientOfTheReference(further, features_, targets_, true);
}

TEST_F(PositioningTrainerTest, TrainingFurtherStartsWhereTheNetworkStands) {
  trainer_.Step(features_, targets_);
  PositioningNetwork network, same;
  trainer_.Export(network);
  PositioningTrainer further({.batch = kTrainingBatch, .steps = 100, .from = &network});
  further.Export(same);
  EXPECT_EQ(same.weights, network.weights);
  EXPECT_EQ(same.batch_norm_scale, network.batch_norm_scale);
  EXPECT_EQ(same.batch_norm_shift, network.batch_norm_shift);
  const double before = further.Step(features_, targets_);
  double after = before;
  for (int i = 1; i < 100; ++i) after = further.Step(features_, targets_);
  EXPECT_LT(after, before);
}

TEST_F(PositioningTrainerTest, LearnsABatchByHeart) {
  const double before = trainer_.Step(features_, targets_);
  double after = before;
  for (int i = 1; i < 300; ++i) after = trainer_.Step(features_, targets_);
  EXPECT_LT(after, before - 2);
}

TEST_F(PositioningTrainerTest, EqualSeedsGiveEqualNetworks) {
  PositioningTrainer same({.batch = kTrainingBatch, .steps = 300, .peak_learning_rate = 5e-3, .seed = 3});
  PositioningTrainer other({.batch = kTrainingBatch, .steps = 300, .peak_learning_rate = 5e-3, .seed = 4});
  EXPECT_EQ(trainer_.Step(features_, targets_), same.Step(features_, targets_));
  EXPECT_NE(trainer_.Step(features_, targets_), other.Step(features_, targets_));
}

}  // namespace
}  // namespace tributary::nn
