#include "cli/recording/moved_recording.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace tributary::cli {
namespace {

// Two anchors, one tag that walks along x at 1 m/s for 10 s, ten rows a second.
class MovedRecordingTest : public ::testing::Test {
 protected:
  MovedRecordingTest() {
    survey_.anchors_m = {{0, 0, 0}, {0, 4, 0}};
    survey_.tags_m = {{0, 0, 0}};
    for (int i = 0; i <= 100; ++i) {
      const double x = 0.1 * i;
      const std::string time = fmt::format("2024-05-01 10:00:{:02}.{}00", i / 10, i % 10);
      ranges_ += fmt::format("{},{:.4f},{:.4f}\n", time, x, std::hypot(x, 4));
      truth_ += fmt::format("{},{},0,0,1,0,0,0\n", time, x);
    }
  }
  BeaconRecording Recording(const std::string& ranges, const std::string& truth) const {
    return {survey_, *scene::ParseRanges(ranges, survey_), *scene::MotionCapture::Parse(truth, survey_)};
  }
  absl::StatusOr<MovedRecording> Make(const std::vector<RecordingStretch>& stretches) const {
    return MoveAnchor(ranges_, truth_, Recording(ranges_, truth_), stretches, {.anchor = 1, .by_m = {1, -4}});
  }

  scene::Survey survey_;
  std::string ranges_;
  std::string truth_ = "time,x,y,z,rotation,,,\n";
};

TEST_F(MovedRecordingTest, RangesAreThoseOfTheAnchorsNewPlace) {
  const auto made =
      Make({{.part = {.start = 0.5, .end = 1}}, {.part = {.start = 0, .end = 0.5}, .moved = true}});
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->stretches.size(), 2u);
  const BeaconRecording read = Recording(made->ranges, made->truth);
  std::size_t row = 0;
  for (const MovedRecording::Stretch& stretch : made->stretches) {
    for (std::size_t i = 0; i < stretch.rows; ++i, ++row) {
      const std::int64_t time = read.ranges.unix_ns(row);
      EXPECT_GE(time, stretch.begin_unix_ns);
      EXPECT_LE(time, stretch.end_unix_ns);
      const auto at = read.motion.At(time, {0, 0, 0});
      ASSERT_TRUE(at.has_value()) << row;
      EXPECT_NEAR(read.ranges.Range(row, 0, 0), (*at)[0], 1e-3) << "this one has not moved";
      const double other = stretch.moved ? std::abs((*at)[0] - 1) : std::hypot((*at)[0], 4);
      EXPECT_NEAR(read.ranges.Range(row, 1, 0), other, 1e-3) << row;
    }
  }
  EXPECT_EQ(row, read.ranges.size());
  EXPECT_GT(made->stretches[1].begin_unix_ns, made->stretches[0].end_unix_ns);
}

TEST_F(MovedRecordingTest, ARangeWhoseTruthIsUnknownIsLeftOut) {
  truth_.resize(truth_.find("2024-05-01 10:00:05"));
  const auto made = Make({{.part = {.start = 0, .end = 1}, .moved = true}});
  ASSERT_TRUE(made.ok()) << made.status();
  const auto read = scene::ParseRanges(made->ranges, survey_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(std::isfinite(read->Range(10, 1, 0)));
  EXPECT_TRUE(std::isnan(read->Range(90, 1, 0)));
  EXPECT_TRUE(std::isfinite(read->Range(90, 0, 0)));
}

TEST_F(MovedRecordingTest, RefusesAStretchWithoutRows) {
  EXPECT_EQ(Make({{.part = {.start = 0.501, .end = 0.502}}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::cli
