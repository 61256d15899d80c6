#include "core/scene/room_motion.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/scene/gaussian_noise.h"

namespace tributary::scene {
namespace {

// A triangle wave with rounded corners, |y| <= 1, period 1: evenly spread over its range, unlike a sine.
double RoundedTriangle(double turns) {
  constexpr double kSharpness = 0.98;  // 1 is the triangle
  return std::asin(kSharpness * std::sin(2 * std::numbers::pi * turns)) / std::asin(kSharpness);
}

}  // namespace

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
