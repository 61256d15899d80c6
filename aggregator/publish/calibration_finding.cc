#include "aggregator/publish/calibration_finding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tributary::publish {
namespace {

constexpr double kLeastObservations = 100;
constexpr double kLeastTurnDeg = 0.2;
constexpr double kLeastShiftM = 0.01;
constexpr double kDeviations = 3;
constexpr double kScaleThatCounts = 1.25;

}  // namespace

std::string CalibrationFinding(const fusion::LeafCalibration& calibration) {
  if (calibration.observations < kLeastObservations) return {};
  std::vector<std::string> found;
  // The correction is the opposite of the error.
  const double turn_deg = -calibration.turn_deg;
  if (std::abs(turn_deg) > std::max(kLeastTurnDeg, kDeviations * calibration.turn_deviation_deg)) {
    found.push_back(fmt::format("turned by {:.1f}° ± {:.1f}°", turn_deg, calibration.turn_deviation_deg));
  }
  const double shift_m = std::hypot(calibration.shift_m[0], calibration.shift_m[1]);
  const double deviation_m = std::hypot(calibration.shift_deviation_m[0], calibration.shift_deviation_m[1]);
  if (shift_m > std::max(kLeastShiftM, kDeviations * deviation_m)) {
    found.push_back(fmt::format("moved by {:.1f} cm ± {:.1f} cm", 100 * shift_m, 100 * deviation_m));
  }
  if (calibration.scale > kScaleThatCounts || calibration.scale < 1 / kScaleThatCounts) {
    found.push_back(fmt::format("its errors are {:.1f} times as large as it claims", calibration.scale));
  }
  if (found.empty()) return {};
  return fmt::format("{}; {}", fmt::join(found, ", "), calibration.corrected ? "corrected" : "not corrected");
}

}  // namespace tributary::publish
