#include "core/scene/room_plan.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/scene/gaussian_noise.h"

namespace tributary::scene {
namespace {

bool RunsAlongX(Wall wall) { return wall == Wall::kSouth || wall == Wall::kNorth; }

// Lengths of the wall that carries a panel, and of the way to the opposite one.
double AlongM(const RoomPlan& plan, Wall wall) { return RunsAlongX(wall) ? plan.width_m : plan.depth_m; }
double AcrossM(const RoomPlan& plan, Wall wall) { return RunsAlongX(wall) ? plan.depth_m : plan.width_m; }

// The panel's place on its wall along its own x axis, which points east on the south wall and turns with it.
double PlaceOnWall(const RoomPlan& plan, Wall wall) {
  const double along = plan.panels[static_cast<std::size_t>(wall)].along_m;
  return wall == Wall::kSouth || wall == Wall::kEast ? along : -along;
}

// How much farther from the centre the wall is than in the ideal room.
double Farther(const RoomPlan& plan, Wall wall) { return AcrossM(plan, wall) / 2 - kRoomSideM / 2; }

}  // namespace

RoomPosition UserRange(const RoomPlan& plan) {
  return {plan.width_m / 2 - kWallMarginM, plan.depth_m / 2 - kWallMarginM};
}

RoomPosition ToPanelFrame(const RoomPlan& plan, Wall wall, RoomPosition site) {
  const RoomPosition turned = ToPanelFrame(wall, site);
  return {turned.x - PlaceOnWall(plan, wall), turned.y + Farther(plan, wall)};
}

RoomPosition PanelOrigin(const RoomPlan& plan, Wall wall) {
  const double angle = WallAngleDeg(wall) * std::numbers::pi / 180;
  const double x = PlaceOnWall(plan, wall), y = -Farther(plan, wall);
  return {std::cos(angle) * x - std::sin(angle) * y, std::sin(angle) * x + std::cos(angle) * y};
}

Surroundings SurroundingsOf(const RoomPlan& plan, Wall wall) {
  const double half = AlongM(plan, wall) / 2, place = PlaceOnWall(plan, wall);
  return {half - place, -half - place, AcrossM(plan, wall) - kRoomSideM / 2, plan.height_m};
}

RoomPlan DrawRoomPlan(std::uint64_t seed) {
  std::uint64_t next = 0;
  const auto between = [&](double least, double most) {
    return least + (most - least) * UniformAt(seed, next++);
  };
  RoomPlan plan;
  plan.width_m = between(6, 20);
  plan.depth_m = between(6, 20);
  plan.height_m = between(2.5, 5);
  plan.carrier_hz = between(2.4e9, 6e9);
  for (std::size_t w = 0; w < kWallCount; ++w) {
    const double most = AlongM(plan, static_cast<Wall>(w)) / 2 - 1;
    plan.panels[w].along_m = between(-most, most);
    plan.panels[w].height_m = between(1.5, std::min(3.0, plan.height_m - 0.3));
  }
  return plan;
}

}  // namespace tributary::scene
