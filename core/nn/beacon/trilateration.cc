#include "core/nn/beacon/trilateration.h"

#include <cmath>

namespace tributary::nn {
namespace {

constexpr int kMostSteps = 50;
constexpr double kLastStepM = 1e-6;
constexpr double kMostStepM = 1.0;  // keeps the first steps of a far start from overshooting
constexpr double kNearestM = 1e-3;  // an anchor's own position has no direction
constexpr double kLeastDeterminant = 1e-9;

}  // namespace

std::optional<std::array<double, 2>> Trilaterate(std::span<const std::array<double, 3>> anchors_m,
                                                 std::span<const double> ranges_m, double height_m) {
  double x = 0.0;
  double y = 0.0;
  for (const auto& anchor : anchors_m) {
    x += anchor[0] / static_cast<double>(anchors_m.size());
    y += anchor[1] / static_cast<double>(anchors_m.size());
  }
  for (int iteration = 0; iteration < kMostSteps; ++iteration) {
    double xx = 0.0, xy = 0.0, yy = 0.0, gx = 0.0, gy = 0.0;
    for (std::size_t i = 0; i < anchors_m.size(); ++i) {
      const double dx = x - anchors_m[i][0];
      const double dy = y - anchors_m[i][1];
      const double distance = std::fmax(std::hypot(dx, dy, height_m - anchors_m[i][2]), kNearestM);
      const double error = ranges_m[i] - distance;
      xx += dx * dx / (distance * distance);
      xy += dx * dy / (distance * distance);
      yy += dy * dy / (distance * distance);
      gx += dx / distance * error;
      gy += dy / distance * error;
    }
    const double determinant = xx * yy - xy * xy;
    if (!(determinant > kLeastDeterminant)) return std::nullopt;
    double step_x = (yy * gx - xy * gy) / determinant;
    double step_y = (xx * gy - xy * gx) / determinant;
    const double length = std::hypot(step_x, step_y);
    if (!std::isfinite(length)) return std::nullopt;
    if (length > kMostStepM) {
      step_x *= kMostStepM / length;
      step_y *= kMostStepM / length;
    }
    x += step_x;
    y += step_y;
    if (length < kLastStepM) break;
  }
  return std::array<double, 2>{x, y};
}

}  // namespace tributary::nn
