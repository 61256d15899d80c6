#include "core/scene/room_examples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "core/scene/gaussian_noise.h"

namespace tributary::scene {
namespace {

using Features = std::array<float, kChannelFeatures>;

Features Sensed(const RoomExamples& examples, std::uint64_t index, Wall wall) {
  Features features;
  examples.Sense(index, wall, features);
  return features;
}

double Power(const Features& features) {
  double power = 0;
  for (const float v : features) power += static_cast<double>(v) * v;
  return power;
}

// Nearly without noise.
RoomConditions Quiet() { return {.snr_db = {200, 200}}; }

TEST(RoomExamplesTest, AreTheIdealRoomUnlessTheyAreToldOtherwise) {
  const RoomExamples examples{42};
  Features ideal, noise;
  ComputeRoomChannel(ToPanelFrame(Wall::kEast, examples.User(7)), ideal);
  FillGaussianNoise(~std::uint64_t{42}, 4 * 7 + 1, noise);
  const Features sensed = Sensed(examples, 7, Wall::kEast);
  for (std::size_t i = 0; i < kChannelFeatures; ++i) {
    EXPECT_NEAR(sensed[i], ideal[i] + 0.1 / std::numbers::sqrt2 * noise[i], 1e-6);
  }
  const RoomPosition nominal = ToPanelFrame(Wall::kEast, examples.User(7));
  const RoomPosition label = examples.Label(7, Wall::kEast);
  EXPECT_DOUBLE_EQ(label.x, nominal.x);
  EXPECT_DOUBLE_EQ(label.y, nominal.y);
}

TEST(RoomExamplesTest, TheNoiseHasThePowerThatWasAskedFor) {
  const RoomExamples quiet{1, Quiet()};
  const RoomExamples loud{1, {.snr_db = {10, 10}}};
  double power = 0;
  for (std::uint64_t index = 0; index < 40; ++index) {
    const Features a = Sensed(quiet, index, Wall::kSouth), b = Sensed(loud, index, Wall::kSouth);
    for (std::size_t i = 0; i < kChannelFeatures; ++i) power += (b[i] - a[i]) * (b[i] - a[i]);
  }
  // Per antenna and subcarrier; the standard error over 40 · 512 complex values is 0.7 %.
  EXPECT_NEAR(power / (40 * 512), 0.1, 0.1 * 4 * 0.007);
}

TEST(RoomExamplesTest, BlocksOnePanelOfFourInTurn) {
  RoomConditions conditions = Quiet();
  conditions.reflection = {0, 0};
  const RoomExamples open{3, conditions};
  conditions.blocked_db = {12, 12};
  conditions.one_panel_blocked = true;
  const RoomExamples blocked{3, conditions};
  for (std::uint64_t index = 0; index < 8; ++index) {
    for (std::uint64_t wall = 0; wall < 4; ++wall) {
      const double ratio = Power(Sensed(blocked, index, static_cast<Wall>(wall))) /
                           Power(Sensed(open, index, static_cast<Wall>(wall)));
      EXPECT_NEAR(ratio, index % 4 == wall ? std::pow(10.0, -1.2) : 1.0, 1e-4);
    }
  }
}

// A turned panel sees its user where an ideal one would see it after the opposite turn; nothing is reflected,
// since the walls do not turn.
TEST(RoomExamplesTest, ATurnedPanelSeesTheUserInItsOwnFrame) {
  RoomConditions conditions = Quiet();
  conditions.reflection = {0, 0};
  conditions.mounting[0] = {.shift = {0.02, -0.01}, .turn_deg = 2};
  const RoomExamples examples{9, conditions};
  for (std::uint64_t index = 0; index < 5; ++index) {
    const RoomPosition seen = examples.Label(index, Wall::kSouth);
    const double angle = 2 * std::numbers::pi / 180;
    const RoomPosition user = examples.User(index);
    const double x = user.x - 0.02, y = user.y + 0.01 + 5;
    EXPECT_NEAR(seen.x, std::cos(angle) * x + std::sin(angle) * y, 1e-9);
    EXPECT_NEAR(seen.y, std::cos(angle) * y - std::sin(angle) * x - 5, 1e-9);
    Features expected;
    const auto paths = MirrorPaths(seen, kUserHeightM, {0, 0, 0, 0, 0});
    ComputeChannel(std::span(paths).first(1), 0, AntennaGains(), expected);
    const Features sensed = Sensed(examples, index, Wall::kSouth);
    for (std::size_t i = 0; i < kChannelFeatures; ++i) EXPECT_NEAR(sensed[i], expected[i], 3e-3);
  }
}

TEST(RoomExamplesTest, DeadAntennasReceiveNothing) {
  RoomConditions conditions = Quiet();
  conditions.dead_antennas = 0.1;
  conditions.dead_exactly = true;
  const Features features = Sensed({5, conditions}, 3, Wall::kNorth);
  std::size_t dead = 0;
  for (std::size_t antenna = 0; antenna < kPanelAntennas; ++antenna) {
    dead += std::abs(features[8 * antenna]) < 1e-6 && std::abs(features[8 * antenna + 7]) < 1e-6;
  }
  EXPECT_GE(dead, 5u);  // of six that are drawn, one may be drawn twice
  EXPECT_LE(dead, 6u);
}

// A clock that is late by 1 ns makes all paths 30 cm longer in phase: the subcarriers turn, antennas do not.
TEST(RoomExamplesTest, TheClockTurnsSubcarriersAlike) {
  const RoomPath path{1, 2, 1, 1};
  Features on_time, late;
  ComputeChannel({&path, 1}, 0, AntennaGains(), on_time);
  ComputeChannel({&path, 1}, 1e-9 * kSpeedOfLightMPerS, AntennaGains(), late);
  const auto step = [](const Features& features, std::size_t antenna) {
    const std::size_t i = 8 * antenna, half = kChannelFeatures / 2;
    return std::arg(std::complex<double>(features[i + 1], features[i + 1 + half]) *
                    std::conj(std::complex<double>(features[i], features[i + half])));
  };
  for (std::size_t antenna = 0; antenna < kPanelAntennas; antenna += 9) {
    EXPECT_NEAR(step(late, antenna) - step(on_time, antenna), -2 * std::numbers::pi * 12.5e6 * 1e-9, 1e-3);
  }
}

TEST(RoomExamplesTest, EveryUserOfTheDrawnWorldsMeetsAnotherOne) {
  const RoomExamples drawn{11, RoomConditions::Drawn()};
  double least = 1e9, most = 0;
  for (std::uint64_t index = 0; index < 200; ++index) {
    const Features features = Sensed(drawn, index, Wall::kWest);
    for (const float v : features) ASSERT_TRUE(std::isfinite(v));
    EXPECT_EQ(features, Sensed(drawn, index, Wall::kWest));
    least = std::min(least, Power(features));
    most = std::max(most, Power(features));
  }
  EXPECT_GT(most, 4 * least);
}

}  // namespace
}  // namespace tributary::scene
