#include "core/nn/beacon/trilateration.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace tributary::nn {
namespace {

const std::vector<std::array<double, 3>> kAnchors = {{0, 3, 1.05}, {3.5, -3, 1.05}, {-3.5, -3, 1.05}};

std::vector<double> RangesTo(double x, double y, double z) {
  std::vector<double> ranges;
  for (const auto& a : kAnchors) ranges.push_back(std::hypot(x - a[0], y - a[1], z - a[2]));
  return ranges;
}

TEST(TrilaterationTest, FindsTheTagFromExactRangesAtAnotherHeight) {
  for (const auto& [x, y] : {std::pair{0.2, 0.3}, std::pair{-2.0, 1.5}, std::pair{2.9, -2.5}}) {
    const auto position = Trilaterate(kAnchors, RangesTo(x, y, 0.2), 0.2);
    ASSERT_TRUE(position.has_value());
    EXPECT_NEAR((*position)[0], x, 1e-6);
    EXPECT_NEAR((*position)[1], y, 1e-6);
  }
}

TEST(TrilaterationTest, CommonBiasOfSurroundingAnchorsMostlyCancels) {
  std::vector<double> ranges = RangesTo(0.0, -1.0, 1.0);
  for (double& r : ranges) r += 0.2;
  const auto position = Trilaterate(kAnchors, ranges, 1.0);
  ASSERT_TRUE(position.has_value());
  EXPECT_LT(std::hypot((*position)[0], (*position)[1] + 1.0), 0.2);
}

TEST(TrilaterationTest, RefusesRangesThatAreNotFinite) {
  EXPECT_EQ(
      Trilaterate(kAnchors, std::vector<double>{1.0, std::numeric_limits<double>::quiet_NaN(), 1.0}, 1.0),
      std::nullopt);
}

TEST(TrilaterationTest, RefusesAnchorsInOneSpot) {
  const std::vector<std::array<double, 3>> anchors(3, {1.0, 1.0, 1.0});
  EXPECT_EQ(Trilaterate(anchors, std::vector<double>{1.0, 1.0, 1.0}, 1.0), std::nullopt);
}

}  // namespace
}  // namespace tributary::nn
