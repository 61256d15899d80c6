#include "core/scene/room_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/scene/room_channel.h"
#include "core/scene/room_examples.h"

namespace tributary::scene {
namespace {

constexpr Wall kEveryWall[] = {Wall::kSouth, Wall::kEast, Wall::kNorth, Wall::kWest};

// 12 m wide, 8 m deep: each panel 1 m from the middle of its wall, to the east or north.
RoomPlan Hall() {
  return {.width_m = 12,
          .depth_m = 8,
          .height_m = 4,
          .carrier_hz = 5e9,
          .panels = {{{.along_m = 1}, {.along_m = 1}, {.along_m = 1}, {.along_m = 1}}}};
}

TEST(RoomPlanTest, IsTheIdealRoomUnlessItIsToldOtherwise) {
  for (const Wall wall : kEveryWall) {
    const RoomPosition site = {1.25, -3.5};
    EXPECT_EQ(ToPanelFrame(RoomPlan(), wall, site).x, ToPanelFrame(wall, site).x);
    EXPECT_EQ(ToPanelFrame(RoomPlan(), wall, site).y, ToPanelFrame(wall, site).y);
    EXPECT_NEAR(PanelOrigin(RoomPlan(), wall).x, 0, 1e-12);
    EXPECT_NEAR(PanelOrigin(RoomPlan(), wall).y, 0, 1e-12);
  }
}

TEST(RoomPlanTest, PutsEachPanelWhereTheNetworkKnowsIt) {
  const RoomPosition panels[] = {{1, -4}, {6, 1}, {1, 4}, {-6, 1}};
  for (std::size_t i = 0; i < kWallCount; ++i) {
    const RoomPosition panel = ToPanelFrame(Hall(), kEveryWall[i], panels[i]);
    EXPECT_NEAR(panel.x, 0, 1e-12) << WallName(kEveryWall[i]);
    EXPECT_NEAR(panel.y, -5, 1e-12) << WallName(kEveryWall[i]);
  }
}

TEST(RoomPlanTest, TheOriginLeadsBackToTheSite) {
  const RoomPosition site = {3, -2};
  for (const Wall wall : kEveryWall) {
    const RoomPosition p = ToPanelFrame(Hall(), wall, site), origin = PanelOrigin(Hall(), wall);
    const double angle = WallAngleDeg(wall) * std::numbers::pi / 180;
    EXPECT_NEAR(origin.x + std::cos(angle) * p.x - std::sin(angle) * p.y, site.x, 1e-12);
    EXPECT_NEAR(origin.y + std::sin(angle) * p.x + std::cos(angle) * p.y, site.y, 1e-12);
  }
}

// Seen from the south wall, whose panel hangs 1 m east of its middle, east is to the right. Seen from the
// north wall the same panel hangs to the left of the middle.
TEST(RoomPlanTest, KnowsWhereTheOtherWallsAre) {
  const Surroundings south = SurroundingsOf(Hall(), Wall::kSouth);
  EXPECT_EQ(south.right, 5);
  EXPECT_EQ(south.left, -7);
  EXPECT_EQ(south.front, 3);
  EXPECT_EQ(south.ceiling, 4);
  const Surroundings north = SurroundingsOf(Hall(), Wall::kNorth);
  EXPECT_EQ(north.right, 7);
  EXPECT_EQ(north.left, -5);
  const Surroundings east = SurroundingsOf(Hall(), Wall::kEast);
  EXPECT_EQ(east.right, 3);
  EXPECT_EQ(east.left, -5);
  EXPECT_EQ(east.front, 7);
}

TEST(RoomPlanTest, MirrorsUsersInItsOwnWalls) {
  const auto paths = MirrorPaths({2, -1}, 1.5, {-1, -1, -1, -1, -1}, SurroundingsOf(Hall(), Wall::kSouth));
  EXPECT_EQ(paths[1].x, 8);  // 3 m in front of the right wall, and as far behind it
  EXPECT_EQ(paths[2].x, -16);
  EXPECT_EQ(paths[3].y, 7);
  EXPECT_EQ(paths[4].z, -1.5);
  EXPECT_EQ(paths[5].z, 6.5);
}

// The array is half a wavelength per antenna at any carrier. Far away, the phase from antenna to antenna then
// depends on the direction alone.
TEST(RoomPlanTest, DirectionsLookAlikeAtEveryCarrier) {
  const double angle = 0.3;
  const auto step = [&](double carrier_hz) {
    const RoomPath path{static_cast<float>(1000 * std::sin(angle)),
                        static_cast<float>(1000 * std::cos(angle) - 5), 2, 1};
    std::array<float, kChannelFeatures> features;
    ComputeChannel({&path, 1}, 0, AntennaGains(), features, PanelArray(carrier_hz, 2));
    const std::size_t a = 3, b = 11, half = kChannelFeatures / 2;  // subcarrier 3 of antennas 0 and 1
    const double turn =
        std::atan2(features[b + half], features[b]) - std::atan2(features[a + half], features[a]);
    return std::remainder(turn, 2 * std::numbers::pi);
  };
  const double expected = std::numbers::pi * std::sin(angle);  // antenna 1 is nearer
  // Single precision of 1 km in wavelengths; subcarrier 3 is 6.25 MHz off the carrier.
  EXPECT_NEAR(step(2.4e9), expected, 0.02);
  EXPECT_NEAR(step(6e9), expected, 0.02);
}

TEST(RoomPlanTest, DrawsRoomsWithinTheStatedRange) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RoomPlan plan = DrawRoomPlan(seed);
    for (const double side : {plan.width_m, plan.depth_m}) {
      EXPECT_GE(side, 6);
      EXPECT_LE(side, 20);
    }
    EXPECT_GE(plan.carrier_hz, 2.4e9);
    EXPECT_LE(plan.carrier_hz, 6e9);
    for (std::size_t w = 0; w < kWallCount; ++w) {
      const double length = w % 2 == 0 ? plan.width_m : plan.depth_m;
      EXPECT_LE(std::abs(plan.panels[w].along_m), length / 2 - 1);
      EXPECT_LT(plan.panels[w].height_m, plan.height_m);
      EXPECT_GE(plan.panels[w].height_m, 1.5);
    }
  }
  EXPECT_NE(DrawRoomPlan(1).width_m, DrawRoomPlan(2).width_m);
}

TEST(RoomPlanTest, UsersStayInTheRoom) {
  const RoomExamples examples{5, {}, Hall()};
  double widest = 0;
  for (std::uint64_t index = 0; index < 500; ++index) {
    const RoomPosition user = examples.User(index);
    EXPECT_LE(std::abs(user.x), 5.5);
    EXPECT_LE(std::abs(user.y), 3.5);
    widest = std::max(widest, std::abs(user.x));
  }
  EXPECT_GT(widest, 5.3);
}

// In one room all users meet panels that hang alike; else each meets others.
TEST(RoomPlanTest, UsersOfOneRoomMeetTheSamePanels) {
  RoomConditions conditions = RoomConditions::OfOneRoom(7);
  conditions.turn_deg = 0;  // a shift alone moves all labels alike
  const auto shift = [&](std::uint64_t index, Wall wall) {
    const RoomExamples examples{5, conditions, Hall()};
    return ToPanelFrame(Hall(), wall, examples.User(index)).x - examples.Label(index, wall).x;
  };
  EXPECT_NEAR(shift(0, Wall::kSouth), shift(1, Wall::kSouth), 1e-12);
  EXPECT_GT(std::abs(shift(0, Wall::kSouth) - shift(0, Wall::kEast)), 1e-4);
  conditions.room = 8;
  const double other = shift(0, Wall::kSouth);
  conditions.room = 7;
  EXPECT_GT(std::abs(shift(0, Wall::kSouth) - other), 1e-4);
  conditions.room.reset();
  EXPECT_GT(std::abs(shift(0, Wall::kSouth) - shift(1, Wall::kSouth)), 1e-4);
}

}  // namespace
}  // namespace tributary::scene
