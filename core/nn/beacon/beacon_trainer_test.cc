#include "core/nn/beacon/beacon_trainer.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "core/nn/beacon/beacon_network.h"
#include "core/parameters/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tributary::nn {
namespace {

using testing::HasSubstr;

constexpr double kNoiseM = 0.05;

// A body on a closed path, ranged with noise and a bias of 0.2 m to three anchors, 100 times per second.
std::vector<BeaconExample> Walk(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0.2, kNoiseM);
  std::vector<BeaconExample> examples;
  for (std::size_t i = 0; i < count; ++i) {
    const double t = 0.01 * static_cast<double>(i);
    const double x = 2.5 * std::sin(0.9 * t);
    const double y = 2.0 * std::sin(1.3 * t + 0.5);
    examples.push_back(
        {.unix_ns = static_cast<std::int64_t>(i) * 10'000'000,
         .ranges_m = {std::hypot(x, y - 3) + noise(random), std::hypot(x - 3.5, y + 3) + noise(random),
                      std::hypot(x + 3.5, y + 3) + noise(random)},
         .position_m = {x, y}});
  }
  return examples;
}

BeaconTrainingOptions Quick() {
  BeaconTrainingOptions options;
  options.runs = 3;
  options.max_epochs = 50;
  options.block_ns = 500'000'000;
  return options;
}

TEST(BeaconTrainerTest, LearnsGeometryAndBiasFromExamples) {
  const auto network = TrainBeacon(Walk(3000, 1), Quick());
  ASSERT_TRUE(network.ok()) << network.status();
  double squared_error = 0.0;
  double nees = 0.0;
  const auto unseen = Walk(3000, 2);
  for (const BeaconExample& example : unseen) {
    const BeaconInputs inputs = NormaliseRanges(*network, example.ranges_m);
    const BeaconOutputs position = PositionOf(*network, BeaconForward(network->parameters, inputs));
    const double dx = position[0] - example.position_m[0];
    const double dy = position[1] - example.position_m[1];
    squared_error += dx * dx + dy * dy;
    const auto l = BeaconCholesky(*network, inputs);
    nees += (dx / l[0]) * (dx / l[0]) + std::pow((dy - l[1] * dx / l[0]) / l[2], 2);
  }
  // Two coordinates from three ranges of surrounding anchors: the error is about the noise of one range in
  // each.
  EXPECT_LT(std::sqrt(squared_error / 6000.0), 1.3 * kNoiseM);
  EXPECT_NEAR(nees / 3000.0, 2.0, 0.5);
}

TEST(BeaconTrainerTest, EqualSeedsGiveEqualNetworks) {
  const auto a = TrainBeacon(Walk(1500, 1), Quick());
  const auto b = TrainBeacon(Walk(1500, 1), Quick());
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(EncodeBeacon(*a), EncodeBeacon(*b));
}

// A network as a federated run leaves it: parameters and normalisation alone.
TEST(BeaconTrainerTest, CalibratesANetworkThatWasTrainedElsewhere) {
  const BeaconNetwork trained = *TrainBeacon(Walk(3'000, 1), Quick());
  BeaconNetwork network = trained;
  network.parameter_factor = BeaconNetwork().parameter_factor;
  network.residual_deviation_m = BeaconNetwork().residual_deviation_m;
  const std::vector<BeaconExample> others = Walk(2'000, 2);
  ASSERT_TRUE(CalibrateBeacon(others, network).ok());
  EXPECT_EQ(network.parameters, trained.parameters);
  double sum = 0;
  for (const BeaconExample& each : others) {
    sum += BeaconSquaredError(network, each.ranges_m, each.position_m);
  }
  EXPECT_NEAR(sum / static_cast<double>(others.size()), 2, 1e-3);
  EXPECT_NEAR(network.residual_deviation_m, trained.residual_deviation_m, trained.residual_deviation_m / 2);
  EXPECT_FALSE(CalibrateBeacon(std::span(others).first(BeaconNetwork::kParameters - 1), network).ok());
}

TEST(BeaconTrainerTest, RefusesTooFewOrBrokenExamples) {
  EXPECT_THAT(std::string(TrainBeacon({}, Quick()).status().message()), HasSubstr("no example"));
  EXPECT_THAT(std::string(TrainBeacon(Walk(100, 1), Quick()).status().message()), HasSubstr("62 of each"));
  auto examples = Walk(1500, 1);
  examples[700].ranges_m[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(std::string(TrainBeacon(examples, Quick()).status().message()), HasSubstr("not finite"));
}

TEST(BeaconFileTest, IsReadBackToSinglePrecision) {
  auto network = *TrainBeacon(Walk(1500, 1), Quick());
  network.anchors = {1, 4, 6};
  network.tag = 2;
  network.name = "board-a";
  const auto read = DecodeBeacon(EncodeBeacon(network));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->anchors, network.anchors);
  EXPECT_EQ(read->tag, 2);
  EXPECT_EQ(read->name, "board-a");
  EXPECT_EQ(read->sha256.size(), 64);
  for (std::size_t i = 0; i < network.parameters.size(); ++i) {
    EXPECT_EQ(read->parameters[i], static_cast<double>(static_cast<float>(network.parameters[i])));
  }
}

TEST(BeaconTrainerTest, WidensWhereTrainingHasNeverBeen) {
  const auto network = *TrainBeacon(Walk(3000, 1), Quick());
  for (const BeaconExample& example : Walk(3000, 1)) EXPECT_EQ(BeyondReach(network, example.ranges_m), 0.0);
  // A metre and more beyond the walk.
  const double x = 4.5, y = 3.5;
  const BeaconInputs ranges = {std::hypot(x, y - 3) + 0.2, std::hypot(x - 3.5, y + 3) + 0.2,
                               std::hypot(x + 3.5, y + 3) + 0.2};
  EXPECT_GT(BeyondReach(network, ranges), 0.5);
  const auto outside = BeaconCholesky(network, NormaliseRanges(network, ranges));
  EXPECT_GT(outside[0], 0.5);
  EXPECT_GT(outside[2], 0.5);
  BeaconNetwork old = network;
  old.reach_m.clear();
  EXPECT_LT(BeaconCholesky(old, NormaliseRanges(old, ranges))[0], outside[0]);
}

TEST(BeaconFileTest, AFileOfAnOlderVersionHasNoReach) {
  BeaconNetwork network = *TrainBeacon(Walk(1500, 1), Quick());
  const auto with = DecodeBeacon(EncodeBeacon(network));
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_EQ(with->reach_m.size(), network.reach_m.size());
  network.reach_m.clear();
  const auto without = DecodeBeacon(EncodeBeacon(network));
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_TRUE(without->reach_m.empty());
}

TEST(BeaconFileTest, RefusesAnotherKindAndCutFiles) {
  auto network = *TrainBeacon(Walk(1500, 1), Quick());
  const auto refusal = [](const parameters::TensorSet& set) {
    return std::string(DecodeBeacon(parameters::EncodeSafetensors(set)).status().message());
  };
  const parameters::TensorSet whole = *parameters::DecodeSafetensors(EncodeBeacon(network));
  parameters::TensorSet set = whole;
  set.metadata["kind"] = "positioning";
  EXPECT_THAT(refusal(set), HasSubstr("not a beacon model"));
  set = whole;
  set.metadata["anchors"] = "1,4";
  EXPECT_THAT(refusal(set), HasSubstr("anchors"));
  const std::string file = EncodeBeacon(network);
  EXPECT_FALSE(DecodeBeacon(std::string_view(file).substr(0, file.size() / 2)).ok());
}

}  // namespace
}  // namespace tributary::nn
