#include "core/nn/beacon/continual_beacon.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/nn/beacon/beacon_trainer.h"

namespace tributary::nn {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

// Three anchors at a hall of 6 m by 6 m, and a subject that walks about: its position is a curve that fills
// the hall.
class ContinualBeaconTest : public ::testing::Test {
 protected:
  using Anchors = std::array<std::array<double, 2>, 3>;
  static constexpr Anchors kAnchors = {{{-4, -4}, {4, -3}, {0, 5}}};

  BeaconExample At(double seconds) {
    const std::array<double, 2> place = {2.9 * std::sin(0.61 * seconds), 2.9 * std::sin(0.83 * seconds + 1)};
    BeaconExample example{
        .unix_ns = static_cast<std::int64_t>(1e9 * seconds), .ranges_m = {}, .position_m = place};
    std::normal_distribution<double> noise(0, 0.03);
    for (std::size_t i = 0; i < anchors_.size(); ++i) {
      example.ranges_m[i] = std::hypot(place[0] - anchors_[i][0], place[1] - anchors_[i][1]) + noise(random_);
    }
    return example;
  }

  BeaconNetwork Trained() {
    std::vector<BeaconExample> examples;
    for (double t = 0; t < 120; t += 0.1) examples.push_back(At(t));
    BeaconTrainingOptions options;
    options.runs = 2;
    auto network = TrainBeacon(examples, options);
    EXPECT_TRUE(network.ok()) << network.status();
    return *std::move(network);
  }

  // Ten labels a second; trains when it is due. The mean error and the mean squared error as stated.
  struct Errors {
    double mean_m = 0;
    double nees = 0;
  };
  Errors Walk(ContinualBeacon& beacon, double from_s, double to_s) {
    Errors errors;
    int count = 0;
    for (double t = from_s; t < to_s; t += 0.1, ++count) {
      const BeaconExample example = At(t);
      const BeaconNetwork& network = beacon.network();
      const BeaconOutputs at =
          PositionOf(network, BeaconForward(network.parameters, NormaliseRanges(network, example.ranges_m)));
      errors.mean_m += std::hypot(at[0] - example.position_m[0], at[1] - example.position_m[1]);
      errors.nees += BeaconSquaredError(network, example.ranges_m, example.position_m) /
                     std::pow(beacon.deviation_scale(), 2);
      const auto verdict = beacon.Take(example);
      EXPECT_TRUE(verdict.ok()) << verdict.status();
      if (verdict->drift_began) ++drifts_;
      if (verdict->training_due) {
        ++trainings_;
        EXPECT_TRUE(beacon.Train({}).ok());
      }
      EXPECT_LE(beacon.kept_samples(), ContinualBeacon::kMostSamples);
    }
    return {errors.mean_m / count, errors.nees / count};
  }

  std::mt19937_64 random_{7};
  Anchors anchors_ = kAnchors;
  int drifts_ = 0;
  int trainings_ = 0;
};

TEST_F(ContinualBeaconTest, AConsistentNetworkIsLeftAlone) {
  ContinualBeacon beacon(Trained(), 0);
  const BeaconParameters before = beacon.network().parameters;
  const Errors errors = Walk(beacon, 500, 800);
  EXPECT_EQ(drifts_, 0);
  EXPECT_EQ(beacon.network().parameters, before);
  EXPECT_LT(errors.nees, 3);
  EXPECT_LT(beacon.kept_samples(), 500u) << "they do not pile up";
}

TEST_F(ContinualBeaconTest, AnAnchorThatMovesIsFoundAndLearned) {
  ContinualBeacon beacon(Trained(), 1.0 / 256);
  const Errors before = Walk(beacon, 500, 560);
  anchors_[1] = {4.6, -3.4};
  Walk(beacon, 560, 561);
  const Errors moved = Walk(beacon, 561, 566);
  EXPECT_EQ(drifts_, 1);
  EXPECT_GT(moved.mean_m, 3 * before.mean_m);
  EXPECT_LT(moved.nees, 8) << "it states the new uncertainty after a few labels";
  EXPECT_GT(beacon.deviation_scale(), 2);
  Walk(beacon, 566, 700);
  const Errors after = Walk(beacon, 700, 800);
  EXPECT_GE(trainings_, 4);
  EXPECT_LT(after.mean_m, 1.3 * before.mean_m);
  EXPECT_LT(after.nees, 4);
  for (const double weight : beacon.network().parameters) EXPECT_EQ(weight, std::round(256 * weight) / 256);
  EXPECT_FALSE(beacon.drifted()) << "all passages that it learns from have come";
  EXPECT_EQ(drifts_, 1);
}

TEST_F(ContinualBeaconTest, ALabelThatIsWrongIsForgotten) {
  ContinualBeacon beacon(Trained(), 0);
  Walk(beacon, 500, 510);
  BeaconExample wrong = At(510);
  wrong.position_m = {900, 900};
  ASSERT_TRUE(beacon.Take(wrong).ok());
  EXPECT_GT(beacon.deviation_scale(), 2);
  Walk(beacon, 511, 530);
  EXPECT_EQ(drifts_, 0);
  EXPECT_LT(beacon.deviation_scale(), 1.7);
}

TEST_F(ContinualBeaconTest, LearnsWhatMostLabelsSay) {
  ContinualBeacon beacon(Trained(), 0);
  const Errors before = Walk(beacon, 500, 510);
  anchors_[1] = {4.6, -3.4};
  for (double t = 510; t < 700; ++t) {
    Walk(beacon, t, t + 0.95);
    BeaconExample wrong = At(t + 0.95);
    wrong.position_m = {300, -500};
    ASSERT_TRUE(beacon.Take(wrong).ok());
  }
  const Errors after = Walk(beacon, 700, 800);
  EXPECT_LT(after.mean_m, 1.5 * before.mean_m);
}

TEST_F(ContinualBeaconTest, RefusesWhatNoHallHas) {
  ContinualBeacon beacon(Trained(), 0);
  const BeaconExample good = At(1);
  for (const double bad : {-1.0, 2e4, std::numeric_limits<double>::quiet_NaN()}) {
    BeaconExample example = good;
    example.ranges_m[1] = bad;
    EXPECT_EQ(beacon.Take(example).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  for (const double bad : {2e6, -2e6, std::numeric_limits<double>::infinity()}) {
    BeaconExample example = good;
    example.position_m[0] = bad;
    EXPECT_EQ(beacon.Take(example).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(beacon.kept_samples(), 0u);
}

TEST_F(ContinualBeaconTest, KeepsLittleOfAFlood) {
  ContinualBeacon beacon(Trained(), 0);
  anchors_[0] = {-1, -1};
  BeaconExample example = At(1);
  for (std::int64_t i = 0; i < 20'000; ++i) {
    example.unix_ns = 500 * kSecondNs + i * 1'000'000;  // a thousand a second
    ASSERT_TRUE(beacon.Take(example).ok());
  }
  EXPECT_TRUE(beacon.drifted());
  EXPECT_LE(beacon.kept_samples(), 21 * ContinualBeacon::kPassageSamples);
}

TEST_F(ContinualBeaconTest, ATrainingThatCannotBeDoneLeavesTheNetworkAndComesBackLater) {
  ContinualBeacon beacon(Trained(), 0);
  const BeaconParameters before = beacon.network().parameters;
  anchors_[0] = {-1, -1};
  BeaconExample same = At(1);
  int due = 0;
  for (std::int64_t i = 0; i < 400; ++i) {
    same.unix_ns = 500 * kSecondNs + i * kSecondNs / 10;
    if (!beacon.Take(same)->training_due) continue;
    ++due;
    EXPECT_EQ(beacon.Train({}).status().code(), absl::StatusCode::kInvalidArgument) << "all are alike";
  }
  EXPECT_GE(due, 2);
  EXPECT_LT(due, 10);
  EXPECT_EQ(beacon.network().parameters, before);
  EXPECT_GT(beacon.deviation_scale(), 1.5) << "it says so meanwhile";
}

}  // namespace
}  // namespace tributary::nn
