#include "core/nn/beacon/beacon_retraining.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tributary::nn {
namespace {

class RetrainBeaconTest : public ::testing::Test {
 protected:
  RetrainBeaconTest() {
    network_.input_gain_per_m = {1, 1, 1};
    network_.parameter_factor.assign(BeaconNetwork::kParameters * BeaconNetwork::kParameters, 0);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (double& each : network_.parameters) each = uniform(random_);
  }

  // A smooth map; `shift` moves it, as an anchor that was moved does.
  std::vector<BeaconPattern> Patterns(std::size_t count, double shift) {
    std::uniform_real_distribution<double> uniform(-0.9, 0.9);
    std::normal_distribution<double> noise(0, 0.005);
    std::vector<BeaconPattern> patterns(count);
    for (BeaconPattern& each : patterns) {
      for (double& input : each.inputs) input = uniform(random_);
      const auto [a, b, c] = each.inputs;
      each.targets = {0.5 * a - 0.3 * b * b + shift + noise(random_),
                      0.4 * c + 0.2 * a * b - shift + noise(random_)};
    }
    return patterns;
  }

  BeaconRetraining Retrain(std::span<const BeaconPattern> patterns) {
    auto done = RetrainBeacon(network_, patterns, {.weight_step = 1.0 / 256});
    EXPECT_TRUE(done.ok()) << done.status();
    return *std::move(done);
  }

  std::mt19937_64 random_{1};
  BeaconNetwork network_;
};

TEST_F(RetrainBeaconTest, FollowsAChangeAndMeasuresItsOwnUncertainty) {
  network_ = Retrain(Patterns(600, 0)).network;
  const BeaconRetraining moved = Retrain(Patterns(600, 0.1));
  EXPECT_TRUE(moved.taken);
  EXPECT_GT(moved.error_before, 0.09);
  EXPECT_LT(moved.error_after, 0.02);
  EXPECT_NEAR(moved.network.residual_deviation_m, moved.error_after * network_.output_scale_m, 1e-12);
  for (const double weight : moved.network.parameters) EXPECT_EQ(weight, std::round(256 * weight) / 256);
  EXPECT_FALSE(moved.network.reach_m.empty());
}

TEST_F(RetrainBeaconTest, KeepsWeightsThatAreNoWorse) {
  network_ = Retrain(Patterns(600, 0)).network;
  std::vector<BeaconPattern> spoiled = Patterns(600, 0);
  // What it learns from contradicts what it is judged by: every fifth of twenty blocks.
  for (std::size_t i = 0; i < spoiled.size(); ++i) {
    if (i * 20 / spoiled.size() % 5 != 4) spoiled[i].targets = {0.8, -0.8};
  }
  const BeaconRetraining kept = Retrain(spoiled);
  EXPECT_FALSE(kept.taken);
  EXPECT_EQ(kept.network.parameters, network_.parameters);
  EXPECT_EQ(kept.error_after, kept.error_before);
}

TEST_F(RetrainBeaconTest, FewSamplesDoNotUndoWhatItKnew) {
  network_ = Retrain(Patterns(600, 0)).network;
  // They come from a corner; the rest of the place has not changed.
  std::vector<BeaconPattern> corner = Patterns(4000, 0);
  std::erase_if(corner, [](const BeaconPattern& each) { return each.inputs[0] < 0.6 || each.inputs[1] < 0; });
  corner.resize(70);
  for (BeaconPattern& each : corner) each.targets[0] += 0.05;
  const auto error_elsewhere = [&](const BeaconNetwork& network) {
    double sum = 0;
    std::vector<BeaconPattern> all = Patterns(500, 0);
    for (const BeaconPattern& each : all) {
      const BeaconOutputs outputs = BeaconForward(network.parameters, each.inputs);
      sum += std::hypot(outputs[0] - each.targets[0], outputs[1] - each.targets[1]);
    }
    return sum / static_cast<double>(all.size());
  };
  const auto alone = RetrainBeacon(network_, corner, {});
  const auto with_prior = RetrainBeacon(network_, corner, {.prior = &network_});
  ASSERT_TRUE(alone.ok() && with_prior.ok());
  ASSERT_TRUE(alone->taken && with_prior->taken);
  EXPECT_LT(error_elsewhere(with_prior->network), error_elsewhere(alone->network));
  EXPECT_LT(with_prior->error_after, with_prior->error_before / 2) << "and yet it learns";
}

TEST_F(RetrainBeaconTest, FoldsGiveADeviationThatFitsWhatComesNext) {
  network_ = Retrain(Patterns(600, 0)).network;
  const auto done = RetrainBeacon(network_, Patterns(300, 0.1), {.calibration_folds = 4});
  ASSERT_TRUE(done.ok() && done->taken);
  double sum = 0;
  const std::vector<BeaconPattern> next = Patterns(1000, 0.1);
  for (const BeaconPattern& each : next) {
    sum += BeaconSquaredError(done->network, RangesOf(network_, each.inputs),
                              PositionOf(network_, each.targets));
  }
  EXPECT_NEAR(sum / static_cast<double>(next.size()), 2, 0.8);
}

TEST_F(RetrainBeaconTest, EndsWhenItIsAskedTo) {
  EXPECT_EQ(RetrainBeacon(network_, Patterns(300, 0), {.withdrawn = [] { return true; }}).status().code(),
            absl::StatusCode::kCancelled);
}

TEST_F(RetrainBeaconTest, RefusesWhatNoNetworkCanLearnFrom) {
  const auto code = [&](std::span<const BeaconPattern> patterns) {
    return RetrainBeacon(network_, patterns, {}).status().code();
  };
  EXPECT_EQ(code(Patterns(61, 0)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(std::vector<BeaconPattern>(100)), absl::StatusCode::kInvalidArgument) << "all alike";
  std::vector<BeaconPattern> broken = Patterns(100, 0);
  broken[50].targets[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code(broken), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::nn
