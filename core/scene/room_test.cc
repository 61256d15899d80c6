#include "core/scene/room.h"

#include <gtest/gtest.h>

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
    const RoomPosition site = ToSiteFrame(wall, panel);
    EXPECT_NEAR(site.x, std::cos(angle) * panel.x - std::sin(angle) * panel.y, 1e-12);
    EXPECT_NEAR(site.y, std::sin(angle) * panel.x + std::cos(angle) * panel.y, 1e-12);
    EXPECT_EQ(ToPanelFrame(wall, site).x, panel.x);
    EXPECT_EQ(ToPanelFrame(wall, site).y, panel.y);
  }
}

TEST(RoomTest, ParsesTheNamesOfWallsAndNothingElse) {
  for (const Wall wall : kWalls) EXPECT_EQ(*ParseWall(WallName(wall)), wall);
  EXPECT_EQ(ParseWall("up").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::scene
