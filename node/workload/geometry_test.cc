#include <cmath>
#include <limits>

#include "core/nn/geometry/range_geometry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node/accelerator/create.h"
#include "node/workload/workload.h"

namespace tributary::workload {
namespace {

using testing::ElementsAre;

// Four anchors at the corners of a square of 6 m, one tag.
nn::RangeGeometry Square() {
  nn::RangeGeometry geometry;
  geometry.anchors = {0, 1, 2, 3};
  geometry.tags = {0};
  geometry.anchor_m = {-3, -3, 1, 3, -3, 1, 3, 3, 1, -3, 3, 1};
  geometry.lever_m = {0, 0};
  geometry.height_m = {1};
  geometry.bias_m.assign(4, 0.2);
  geometry.deviation_m.assign(4, 0.05);
  geometry.pattern_m.assign(4, 0);
  geometry.slope = {0.01};
  geometry.place_m = {0, 0};
  geometry.place_radius_m = 3;
  geometry.residual_limit = 3;
  return geometry;
}

std::vector<float> RangesTo(const nn::RangeGeometry& geometry, double x, double y) {
  std::vector<float> ranges;
  for (std::size_t a = 0; a < 4; ++a) {
    const double distance = std::hypot(x - geometry.anchor_m[3 * a], y - geometry.anchor_m[3 * a + 1]);
    ranges.push_back(static_cast<float>(1.01 * distance + 0.2));
  }
  return ranges;
}

class GeometryWorkloadTest : public testing::Test {
 protected:
  absl::Status Run(const source::SensorFrame& frame) { return workload_->Run(frame, tuples_); }

  std::unique_ptr<Workload> workload_ =
      *CreateGeometry(*accelerator::CreateAccelerator({.max_batch = 2}, Square()), Square());
  estimate::TupleFrame tuples_;
};

TEST_F(GeometryWorkloadTest, GivesPositionAndCovarianceAlsoWithoutOneOfTheRanges) {
  std::vector<float> ranges = RangesTo(Square(), 1.0, -0.5);
  ranges[2] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(Run({.epoch = 3, .subjects = {7}, .features = ranges}).ok());
  EXPECT_THAT(tuples_.subjects, ElementsAre(7));
  EXPECT_NEAR(tuples_.means[0], 1.0, 1e-4);
  EXPECT_NEAR(tuples_.means[1], -0.5, 1e-4);
  // Three ranges of 0.05 m deviation, weighted by 5/4 at the centre of the distribution.
  EXPECT_GT(tuples_.cholesky[0], 0.03);
  EXPECT_LT(tuples_.cholesky[0], 0.07);
}

TEST_F(GeometryWorkloadTest, CountsWhatTooFewRangesLeaveOpen) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(Run({.subjects = {7}, .features = {3, nan, nan, nan}}).ok());
  EXPECT_TRUE(tuples_.subjects.empty());
  EXPECT_EQ(workload_->unusable_tuples(), 1);
}

TEST_F(GeometryWorkloadTest, ContradictingRangesWidenTheTuple) {
  std::vector<float> ranges = RangesTo(Square(), 0.0, 0.0);
  ASSERT_TRUE(Run({.subjects = {7}, .features = ranges}).ok());
  const float alone = tuples_.cholesky[0];
  for (float& range : ranges) range += 1.0f;
  ASSERT_TRUE(Run({.subjects = {7}, .features = ranges}).ok());
  EXPECT_GT(tuples_.cholesky[0], 5 * alone);
}

}  // namespace
}  // namespace tributary::workload
