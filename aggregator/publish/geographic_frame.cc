#include "aggregator/publish/geographic_frame.h"

#include <cmath>
#include <numbers>

namespace tributary::publish {
namespace {

// The ellipsoid of WGS 84 [WGS84]: semi-major axis and flattening.
constexpr double kMajorM = 6'378'137.0;
constexpr double kFlattening = 1 / 298.257223563;
constexpr double kMinorM = kMajorM * (1 - kFlattening);
constexpr double kEccentricity2 = kFlattening * (2 - kFlattening);
constexpr double kSecondEccentricity2 = kEccentricity2 / (1 - kEccentricity2);

double Radians(double degrees) { return degrees * (std::numbers::pi / 180); }
double Degrees(double radians) { return radians * (180 / std::numbers::pi); }

}  // namespace

GeographicFrame::GeographicFrame(GeographicPoint origin, double heading_deg)
    : origin_(origin), heading_rad_(Radians(heading_deg)) {}

GeographicPoint GeographicFrame::At(double x_m, double y_m) const {
  const double east_m = x_m * std::cos(heading_rad_) + y_m * std::sin(heading_rad_);
  const double north_m = y_m * std::cos(heading_rad_) - x_m * std::sin(heading_rad_);
  const double latitude = Radians(origin_.latitude_deg);
  const double longitude = Radians(origin_.longitude_deg);
  const double sin_lat = std::sin(latitude), cos_lat = std::cos(latitude);
  const double sin_lon = std::sin(longitude), cos_lon = std::cos(longitude);
  // Cartesian coordinates with the Earth's centre as their origin.
  const double normal_m = kMajorM / std::sqrt(1 - kEccentricity2 * sin_lat * sin_lat);
  const double x = normal_m * cos_lat * cos_lon - east_m * sin_lon - north_m * sin_lat * cos_lon;
  const double y = normal_m * cos_lat * sin_lon + east_m * cos_lon - north_m * sin_lat * sin_lon;
  const double z = normal_m * (1 - kEccentricity2) * sin_lat + north_m * cos_lat;
  // The closed form [Bowring76]: its error is far below a millimetre near the ellipsoid.
  const double axis_m = std::hypot(x, y);
  const double parametric = std::atan2(z * kMajorM, axis_m * kMinorM);
  const double s = std::sin(parametric), c = std::cos(parametric);
  const double found = std::atan2(z + kSecondEccentricity2 * kMinorM * s * s * s,
                                  axis_m - kEccentricity2 * kMajorM * c * c * c);
  return {Degrees(found), Degrees(std::atan2(y, x))};
}

double GeographicFrame::BearingDeg(double x, double y) const {
  const double bearing = Degrees(std::atan2(x, y) + heading_rad_);
  return bearing - 360 * std::floor(bearing / 360);
}

}  // namespace tributary::publish
