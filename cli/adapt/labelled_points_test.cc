#include "cli/adapt/labelled_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/parameters/npy.h"
#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kFeatures = nn::PositioningNetwork::kInputs;

class LabelledPointsTest : public ::testing::Test {
 protected:
  LabelledPointsTest() : points_(SimulatePoints({3, {}, plan_}, walls_, 12)) {}

  std::string Path(const std::string& name) const { return OwnFolder() + name; }
  void Write(const std::vector<std::uint64_t>& shape, const std::string& positions) {
    points_.features.resize(
        std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>()));
    ASSERT_TRUE(
        runtime::WriteFileAtomically(Path("points.npy"), parameters::EncodeNpy(shape, points_.features))
            .ok());
    ASSERT_TRUE(runtime::WriteFileAtomically(Path("points.csv"), positions).ok());
  }
  std::string Positions(std::size_t count) const {
    std::string csv;
    for (std::size_t i = 0; i < count; ++i) {
      csv += std::to_string(points_.positions[i].x) + "," + std::to_string(points_.positions[i].y) + "\n";
    }
    return csv;
  }
  absl::StatusOr<LabelledPoints> Read() const {
    return ReadLabelledPoints(Path("points.npy"), Path("points.csv"), walls_, plan_);
  }
  std::string Refused() const {
    const absl::Status status = Read().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }
  std::string RefusedPoints() const {
    const absl::Status status = CheckLabelledPoints(points_, plan_);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  scene::RoomPlan plan_{.width_m = 8, .depth_m = 12};
  std::vector<scene::Wall> walls_ = {scene::Wall::kEast, scene::Wall::kSouth};
  LabelledPoints points_;
};

TEST_F(LabelledPointsTest, ComeFromTwoFiles) {
  const std::vector<float> features = points_.features;
  Write({12, 2, kFeatures}, Positions(12));
  const auto read = Read();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->features, features);
  EXPECT_NEAR(read->positions[5].y, points_.positions[5].y, 1e-6);
}

TEST_F(LabelledPointsTest, ASimulatedPanelSensesItsUser) {
  std::vector<float> expected(kFeatures);
  const scene::RoomExamples room{3, {}, plan_};
  room.Sense(4, scene::Wall::kSouth, nn::FeatureSpan(expected));
  const nn::ConstFeatureSpan sensed = points_.Features(4, 1);
  EXPECT_EQ(std::vector<float>(sensed.begin(), sensed.end()), expected);
  const std::size_t chosen[] = {4, 0};
  const LabelledPoints subset = points_.Subset(chosen);
  EXPECT_EQ(subset.positions[0].x, points_.positions[4].x);
  EXPECT_EQ(subset.Features(0, 1)[7], sensed[7]);
}

TEST_F(LabelledPointsTest, NeedASnapshotOfEachPanel) {
  Write({12, 3, kFeatures}, Positions(12));
  EXPECT_THAT(Refused(), HasSubstr("points.npy: the array is [12, 3, 1024], not [points, 2, 1024]"));
  Write({12, kFeatures}, Positions(12));
  EXPECT_THAT(Refused(), HasSubstr("not [points, 2, 1024]"));
  Write({12, 2, 512}, Positions(12));
  EXPECT_THAT(Refused(), HasSubstr("not [points, 2, 1024]"));
}

TEST_F(LabelledPointsTest, OneMayLeaveTheSecondDimensionOut) {
  walls_ = {scene::Wall::kEast};
  Write({12, kFeatures}, Positions(12));
  EXPECT_TRUE(Read().ok()) << Read().status();
}

TEST_F(LabelledPointsTest, NeedAPositionEach) {
  Write({12, 2, kFeatures}, Positions(11));
  EXPECT_THAT(Refused(), HasSubstr("points.csv: 11 positions for 12 points"));
}

TEST_F(LabelledPointsTest, SayHowManyAreNeeded) {
  Write({9, 2, kFeatures}, Positions(9));
  EXPECT_THAT(Refused(), HasSubstr("9 labelled points; measure at least 10"));
}

TEST_F(LabelledPointsTest, AreFinite) {
  points_.features[(3 * 2 + 1) * kFeatures + 17] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(RefusedPoints(),
              HasSubstr("point 4, panel south, feature 17 is not finite; leave this point out"));
}

TEST_F(LabelledPointsTest, HoldASignal) {
  std::fill_n(points_.features.begin() + 2 * 2 * kFeatures, kFeatures, 0.0f);
  EXPECT_THAT(RefusedPoints(), HasSubstr("point 3, panel east: all features are zero"));
}

TEST_F(LabelledPointsTest, LieInTheRoom) {
  points_.positions[1] = {4.5, 0};
  EXPECT_THAT(RefusedPoints(), HasSubstr("point 2 at (4.500, 0.000) m is outside of the room of 8 x 12 m"));
  points_.positions[1] = {0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THAT(RefusedPoints(), HasSubstr("outside of the room"));
}

TEST_F(LabelledPointsTest, AreNotAllTheSame) {
  for (scene::RoomPosition& position : points_.positions) position = {1, 1};
  EXPECT_THAT(RefusedPoints(), HasSubstr("all 12 points lie within 0.5 m of each other; spread them"));
}

TEST_F(LabelledPointsTest, NameAFileThatIsNotThere) {
  EXPECT_THAT(ReadLabelledPoints(Path("none.npy"), Path("none.csv"), walls_, plan_).status().ToString(),
              HasSubstr("none.csv"));
}

}  // namespace
}  // namespace tributary::cli
