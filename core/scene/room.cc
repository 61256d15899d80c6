#include "core/scene/room.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/scene/gaussian_noise.h"

namespace tributary::scene {
namespace {

struct WallFrame {
  std::string_view name;
  double angle_deg;
  double x_east, x_north;  // the panel's x axis in the site's frame; its y axis is (-x_north, x_east)
};

constexpr std::array<WallFrame, 4> kWalls = {{
    {"south", 0, 1, 0},
    {"east", 90, 0, 1},
    {"north", 180, -1, 0},
    {"west", 270, 0, -1},
}};

const WallFrame& Frame(Wall wall) { return kWalls[static_cast<std::size_t>(wall)]; }

// A triangle wave with rounded corners, |y| <= 1, period 1: evenly spread over its range, unlike a sine.
double RoundedTriangle(double turns) {
  constexpr double kSharpness = 0.98;  // 1 is the triangle
  return std::asin(kSharpness * std::sin(2 * std::numbers::pi * turns)) / std::asin(kSharpness);
}

}  // namespace

std::string_view WallName(Wall wall) { return Frame(wall).name; }

double WallAngleDeg(Wall wall) { return Frame(wall).angle_deg; }

RoomPosition ToPanelFrame(Wall wall, RoomPosition site) {
  const WallFrame& frame = Frame(wall);
  return {frame.x_east * site.x + frame.x_north * site.y, frame.x_east * site.y - frame.x_north * site.x};
}

RoomPosition RoomMotion::AtSnapshot(std::uint32_t subject, std::uint32_t snapshot) const {
  // One crossing and return takes 4 · 4.5 m. x and y make different numbers of crossings, so that the curve
  // fills the room; (n, n + 1) of them give a mean speed close to 1 m/s.
  constexpr double kSpeedMPerS = 1.0;
  const double period_s = 1e-9 * static_cast<double>(snapshots * kSnapshotNs);
  const double crossings = kSpeedMPerS * period_s / (4 * kUserRangeM) / std::numbers::sqrt2;
  const double low = std::max(1.0, std::floor(crossings));
  const bool x_is_fast = UniformAt(seed, 4 * std::uint64_t{subject}) < 0.5;
  const double phase_x = UniformAt(seed, 4 * std::uint64_t{subject} + 1);
  const double phase_y = UniformAt(seed, 4 * std::uint64_t{subject} + 2);

  const double turns = static_cast<double>(snapshot) / snapshots;
  return {kUserRangeM * RoundedTriangle((x_is_fast ? low + 1 : low) * turns + phase_x),
          kUserRangeM * RoundedTriangle((x_is_fast ? low : low + 1) * turns + phase_y)};
}

}  // namespace tributary::scene
