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
