#include "aggregator/publish/geographic_frame.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace tributary::publish {
namespace {

// Lengths of one degree at 60 degrees north on the ellipsoid of WGS 84, m: the radii of curvature by pi /
// 180.
constexpr double kDegreeOfLatitudeM = 111'412.287;
constexpr double kDegreeOfLongitudeM = 55'800.002;

TEST(GeographicFrameTest, TheOriginIsWhereItWasSaidToBe) {
  const GeographicPoint at = GeographicFrame({60, 10}, 33).At(0, 0);
  EXPECT_NEAR(at.latitude_deg, 60, 1e-9);
  EXPECT_NEAR(at.longitude_deg, 10, 1e-9);
}

TEST(GeographicFrameTest, WithoutAHeadingYIsNorthAndXIsEast) {
  const GeographicFrame frame({60, 10}, 0);
  const GeographicPoint north = frame.At(0, 100);
  EXPECT_NEAR(north.latitude_deg, 60 + 100 / kDegreeOfLatitudeM, 1e-8) << "1e-8 degrees are 1 mm";
  EXPECT_NEAR(north.longitude_deg, 10, 1e-9);
  const GeographicPoint east = frame.At(100, 0);
  EXPECT_NEAR(east.latitude_deg, 60, 2e-8) << "the parallel turns away by 1.4 mm";
  EXPECT_NEAR(east.longitude_deg, 10 + 100 / kDegreeOfLongitudeM, 1e-8);
}

TEST(GeographicFrameTest, AHeadingTurnsClockwise) {
  const GeographicFrame frame({60, 10}, 90);  // y points east, x south
  EXPECT_GT(frame.At(0, 100).longitude_deg, 10.001);
  EXPECT_LT(frame.At(100, 0).latitude_deg, 59.9995);
  EXPECT_NEAR(frame.BearingDeg(0, 1), 90, 1e-9);
  EXPECT_NEAR(frame.BearingDeg(1, 0), 180, 1e-9);
  EXPECT_NEAR(GeographicFrame({0, 0}, 0).BearingDeg(-1, 0), 270, 1e-9);
}

// At the ends of the Earth nothing is lost: no division by the cosine of the latitude.
TEST(GeographicFrameTest, HoldsAtThePolesAndAtTheDateLine) {
  const GeographicPoint pole = GeographicFrame({90, 0}, 0).At(30, -40);
  EXPECT_TRUE(std::isfinite(pole.longitude_deg));
  // The radius of curvature at a pole is a / (1 - f) = 6,399,594 m.
  EXPECT_NEAR(pole.latitude_deg, 90 - 50 / 6'399'594.0 * 180 / std::numbers::pi, 1e-9);
  EXPECT_LT(GeographicFrame({0, 180}, 0).At(100, 0).longitude_deg, -179.99);
}

}  // namespace
}  // namespace tributary::publish
