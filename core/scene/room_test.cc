#include "core/scene/room.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

namespace tributary::scene {
namespace {

constexpr Wall kWalls[] = {Wall::kSouth, Wall::kEast, Wall::kNorth, Wall::kWest};

TEST(RoomTest, PutsEachPanelsOwnWallAtMinusFiveMetres) {
  const RoomPosition on_wall[] = {{1, -5}, {5, 1}, {-1, 5}, {-5, -1}};  // each 1 m along its wall
  for (std::size_t i = 0; i < 4; ++i) {
    const RoomPosition panel = ToPanelFrame(kWalls[i], on_wall[i]);
    EXPECT_EQ(panel.x, 1) << WallName(kWalls[i]);
    EXPECT_EQ(panel.y, -5) << WallName(kWalls[i]);
  }
}

TEST(RoomTest, TurnsThePanelsFrameByTheWallsAngle) {
  for (const Wall wall : kWalls) {
    const double angle = WallAngleDeg(wall) * std::numbers::pi / 180;
    const RoomPosition panel = {1.25, -3.5};
    const RoomPosition site = {std::cos(angle) * panel.x - std::sin(angle) * panel.y,
                               std::sin(angle) * panel.x + std::cos(angle) * panel.y};
    EXPECT_NEAR(ToPanelFrame(wall, site).x, panel.x, 1e-12);
    EXPECT_NEAR(ToPanelFrame(wall, site).y, panel.y, 1e-12);
  }
}

constexpr double kSnapshotS = 0.016;

TEST(RoomMotionTest, StaysHalfAMetreOffTheWalls) {
  const RoomMotion motion;
  for (std::uint32_t subject = 1; subject <= 16; ++subject) {
    for (std::uint32_t s = 0; s < motion.snapshots; ++s) {
      const RoomPosition p = motion.AtSnapshot(subject, s);
      EXPECT_LE(std::max(std::abs(p.x), std::abs(p.y)), kUserRangeM + 1e-9);
    }
  }
}

TEST(RoomMotionTest, WalksAndClosesItsCurve) {
  const RoomMotion motion;
  for (std::uint32_t subject = 1; subject <= 16; ++subject) {
    double length = 0;
    for (std::uint32_t s = 0; s < motion.snapshots; ++s) {
      const RoomPosition a = motion.AtSnapshot(subject, s);
      const RoomPosition b = motion.AtSnapshot(subject, (s + 1) % motion.snapshots);
      const double step = std::hypot(b.x - a.x, b.y - a.y);
      EXPECT_LT(step / kSnapshotS, 2.0);  // also across the end of the period
      length += step;
    }
    const double mean_speed = length / (motion.snapshots * kSnapshotS);
    EXPECT_GT(mean_speed, 0.6);
    EXPECT_LT(mean_speed, 1.4);
  }
}

// The training set is uniform over |x|, |y| <= 4.5 m: a third of the way in each third.
TEST(RoomMotionTest, SpreadsOverTheRoomLikeTheTrainingSet) {
  const RoomMotion motion;
  std::array<double, 3> share_x = {}, share_y = {};
  const auto third = [](double v) {
    return std::min<std::size_t>(2, static_cast<std::size_t>((v + kUserRangeM) / 3));
  };
  for (std::uint32_t subject = 1; subject <= 16; ++subject) {
    for (std::uint32_t s = 0; s < motion.snapshots; ++s) {
      const RoomPosition p = motion.AtSnapshot(subject, s);
      share_x[third(p.x)] += 1.0 / (16.0 * motion.snapshots);
      share_y[third(p.y)] += 1.0 / (16.0 * motion.snapshots);
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(share_x[i], 1.0 / 3, 0.05);
    EXPECT_NEAR(share_y[i], 1.0 / 3, 0.05);
  }
}

TEST(RoomMotionTest, IsAPureFunctionOfSeedSubjectAndTime) {
  const RoomMotion motion{.seed = 3};
  const std::int64_t time = 1'750'000'000'000'000'000;
  EXPECT_EQ(motion.At(2, time).x, RoomMotion{.seed = 3}.At(2, time).x);
  EXPECT_NE(motion.At(2, time).x, RoomMotion{.seed = 4}.At(2, time).x);
  EXPECT_NE(motion.At(2, time).x, motion.At(3, time).x);
  const std::int64_t period = motion.snapshots * RoomMotion::kSnapshotNs;
  EXPECT_EQ(motion.At(2, time).x, motion.At(2, time + period).x);
}

}  // namespace
}  // namespace tributary::scene
