#include "node/source/ranges.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/scene/recording.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tributary::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Eight anchors and three tags of a body that lies turned as in the example recordings.
scene::Survey EightByThree() {
  scene::Survey survey;
  survey.anchors_m.resize(8);
  survey.tags_m.resize(3);
  survey.turn = {{{1, 0, 0}, {0, -1, 0}, {0, 0, -1}}};
  return survey;
}

// A row whose range number i is first + i / 100.
std::string Row(std::string_view time, double first) {
  std::string row(time);
  for (int i = 0; i < 24; ++i) absl::StrAppend(&row, ",", first + 0.01 * i);
  return row + "\n";
}

std::string Recording() {
  return Row("2022-08-15 9:42:24.766", 1) + Row("2022-08-15 9:42:24.776", 2) +
         Row("2022-08-15 9:42:24.786", 3) + Row("2022-08-15 9:42:24.796", 4);
}

std::string ErrorOf(std::string_view csv) {
  return std::string(scene::ParseRanges(csv, EightByThree()).status().message());
}

TEST(RecordingTimeTest, IsReadAsUtc) {
  EXPECT_EQ(scene::ParseRecordingTime("1970-01-01 0:00:00"), 0);
  EXPECT_EQ(scene::ParseRecordingTime("2022-08-15 9:42:24.766"), 1'660'556'544'766'000'000);
  EXPECT_EQ(scene::ParseRecordingTime("2022-08-15 09:42:24.7"), 1'660'556'544'700'000'000);
  for (const char* bad :
       {"", "2022-08-15", "2022-13-01 0:00:00", "2022-02-30 0:00:00", "2022-08-15 24:00:00",
        "1969-12-31 23:59:59", "2022-08-15 9:42:24.", "2022-08-15 9:42:24.7x", "2022-08-15T9:42:24",
        "9999-01-01 0:00:00", " 2022-08-15 9:42:24", "2022-08-15 9:42:24 ", "2022-08-159:42:24",
        "2022-08-15  9:42:24", "2022-08-15\t9:42:24", "infinite-future"}) {
    EXPECT_EQ(scene::ParseRecordingTime(bad), std::nullopt) << bad;
  }
}

TEST(RangesCsvTest, ReadsTimesAndRanges) {
  const auto rows = scene::ParseRanges(Recording(), EightByThree());
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 4);
  EXPECT_FLOAT_EQ(rows->Range(1, 0, 2), 2.02f);
  EXPECT_FLOAT_EQ(rows->Range(1, 7, 1), 2.22f);
}

TEST(RangesCsvTest, EmptyRangeIsMissing) {
  std::string csv = Recording();
  csv.replace(csv.find(",1.01,"), 6, ",,");
  const auto rows = scene::ParseRanges(csv, EightByThree());
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_TRUE(std::isnan(rows->Range(0, 0, 1)));
  EXPECT_FALSE(std::isnan(rows->Range(0, 0, 2)));
}

TEST(RangesCsvTest, ErrorsNameLineAndColumn) {
  std::string csv = Recording();
  csv.replace(csv.find(",2.04,"), 6, ",x,");
  EXPECT_THAT(ErrorOf(csv), HasSubstr("line 2, column 6 (a1-t1)"));
  EXPECT_THAT(ErrorOf(Row("yesterday", 1)), HasSubstr("line 1, column 1 (time)"));
  EXPECT_THAT(ErrorOf(Row("2022-08-15 9:42:24", 1) + "1,2\n"),
              HasSubstr("line 2: expected time and 24 ranges (8 anchors, 3 tags), found 2"));
  EXPECT_THAT(ErrorOf(Row("2022-08-15 9:42:24", -1)), HasSubstr("a range of 0 to 1000 m"));
  EXPECT_THAT(ErrorOf(Row("2022-08-15 9:42:24", 1) + Row("2022-08-15 9:42:23", 1)),
              HasSubstr("not before the previous"));
  EXPECT_THAT(ErrorOf("\n\r\n"), HasSubstr("no line"));
  std::string nan = Row("2022-08-15 9:42:24", 1);
  nan.replace(nan.find(",1.01,"), 6, ",nan,");
  EXPECT_THAT(ErrorOf(nan), HasSubstr("column 3 (a0-t1)"));
  EXPECT_THAT(ErrorOf(std::string("a\0b,", 4)), HasSubstr("line 1"));
}

const std::string kHeader = "time,x,y,z,rotation,,,\r\n";

TEST(MotionCaptureTest, PlacesATagByPositionAndOrientation) {
  // Half a turn about x: the tags' frame and the site's are then parallel.
  const auto capture = scene::MotionCapture::Parse(
      absl::StrCat(kHeader, "2022-08-15 9:42:24,1,2,3,0,1,0,0\r\n"), EightByThree());
  ASSERT_TRUE(capture.ok()) << capture.status();
  const auto point = capture->At(capture->first_unix_ns(), {0.1, 0.2, 0.3});
  ASSERT_TRUE(point.has_value());
  EXPECT_NEAR((*point)[0], 1.1, 1e-12);
  EXPECT_NEAR((*point)[1], 2.2, 1e-12);
  EXPECT_NEAR((*point)[2], 3.3, 1e-12);
}

TEST(MotionCaptureTest, InterpolatesButNotAcrossGapsNorOutside) {
  const auto capture = scene::MotionCapture::Parse(
      "2022-08-15 9:42:24.00,0,0,0,0,1,0,0\n2022-08-15 9:42:24.01,1,2,0,0,1,0,0\n2022-08-15 "
      "9:42:25.00,9,9,0,0,1,0,0\n",
      EightByThree());
  ASSERT_TRUE(capture.ok()) << capture.status();
  const std::int64_t start = capture->first_unix_ns();
  EXPECT_THAT(*capture->At(start + 2'500'000, {}), ElementsAre(0.25, 0.5, 0.0));
  EXPECT_EQ(capture->At(start + 500'000'000, {}), std::nullopt);
  EXPECT_EQ(capture->At(start - 1, {}), std::nullopt);
  EXPECT_EQ(capture->At(capture->last_unix_ns() + 1, {}), std::nullopt);
}

TEST(MotionCaptureTest, RefusesWhatIsNoPose) {
  EXPECT_THAT(std::string(scene::MotionCapture::Parse("2022-08-15 9:42:24,1,2,3,0,1,1,0\n", EightByThree())
                              .status()
                              .message()),
              HasSubstr("unit quaternion"));
  EXPECT_THAT(std::string(scene::MotionCapture::Parse("2022-08-15 9:42:24,1,2,?,0,1,0,0\n", EightByThree())
                              .status()
                              .message()),
              HasSubstr("line 1, column 4 (z)"));
  EXPECT_FALSE(scene::MotionCapture::Parse(kHeader, EightByThree()).ok());
}

TEST(MotionCaptureTest, TakesTheOrderAndTheUnitOfTheSurvey) {
  scene::Survey survey = EightByThree();
  survey.quaternion = scene::Survey::Quaternion::kXyzw;
  survey.truth_unit_m = 0.001;
  const auto capture = scene::MotionCapture::Parse("2022-08-15 9:42:24,1000,2000,3000,1,0,0,0\n", survey);
  ASSERT_TRUE(capture.ok()) << capture.status();
  EXPECT_NEAR((*capture->At(capture->first_unix_ns(), {0, 0.2, 0}))[1], 2.2, 1e-12);
}

TEST(RangesCsvTest, TakesTheOrderAndTheUnitOfTheSurvey) {
  scene::Survey survey;
  survey.anchors_m.resize(2);
  survey.tags_m.resize(3);
  survey.order = scene::Survey::Order::kTags;
  survey.range_unit_m = 0.01;
  const auto rows = scene::ParseRanges("2022-08-15 9:42:24,100,200,300,400,500,600\n", survey);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_FLOAT_EQ(rows->Range(0, 1, 0), 2.0f);
  EXPECT_FLOAT_EQ(rows->Range(0, 0, 1), 3.0f);
}

class RangesSourceTest : public testing::Test {
 protected:
  std::unique_ptr<Source> Make(const RangesSourceOptions& options, std::string csv = Recording()) {
    auto source = CreateRanges(*scene::ParseRanges(csv, EightByThree()), options, clock_);
    EXPECT_TRUE(source.ok()) << source.status();
    return source.ok() ? *std::move(source) : nullptr;
  }

  runtime::ManualClock clock_{5'000'000'000};
  SensorFrame frame_;
};

TEST_F(RangesSourceTest, GivesTheTripleWithTheRecordingsEpochAndTheClocksTime) {
  const auto source = Make({.anchors = {1, 4, 6}, .tag = 2, .speed = 0.0});
  ASSERT_TRUE(source->Next({}, frame_).ok());
  EXPECT_THAT(frame_.features, ElementsAre(1.05f, 1.14f, 1.20f));
  EXPECT_THAT(frame_.subjects, ElementsAre(2));
  EXPECT_EQ(frame_.epoch, estimate::SlotLength().EpochAt(1'660'556'544'766'000'000));
  EXPECT_EQ(frame_.captured_unix_ns, 5'000'000'000);
}

TEST_F(RangesSourceTest, EndsWithThePart) {
  const auto source = Make({.anchors = {0, 1, 2}, .start_fraction = 0.5, .speed = 0.0});
  ASSERT_TRUE(source->Next({}, frame_).ok());
  EXPECT_FLOAT_EQ(frame_.features[0], 3.0f);
  ASSERT_TRUE(source->Next({}, frame_).ok());
  EXPECT_EQ(source->Next({}, frame_).code(), absl::StatusCode::kOutOfRange);
}

TEST_F(RangesSourceTest, RowsWithoutARangeOfTheTripleAreMissed) {
  std::string csv = Recording();
  csv.replace(csv.find(",1.03,"), 6, ",,");  // a1-t0 of the first row
  const auto source = Make({.anchors = {0, 1, 2}, .speed = 0.0}, csv);
  ASSERT_TRUE(source->Next({}, frame_).ok());
  EXPECT_FLOAT_EQ(frame_.features[0], 2.0f);
  EXPECT_EQ(source->missed_frames(), 1);
}

TEST_F(RangesSourceTest, GivesTheRangesOfSeveralTagsAndWhatARowLacksAsNaN) {
  std::string csv = Recording();
  csv.replace(csv.find(",1.03,"), 6, ",,");  // a1-t0 of the first row
  const auto source =
      Make({.anchors = {0, 1}, .tag = 1, .tags = {0, 2}, .complete = false, .speed = 0.0}, csv);
  ASSERT_TRUE(source->Next({}, frame_).ok());
  EXPECT_THAT(frame_.subjects, ElementsAre(1));
  ASSERT_EQ(frame_.features.size(), 4u);
  EXPECT_FLOAT_EQ(frame_.features[1], 1.02f);
  EXPECT_TRUE(std::isnan(frame_.features[2]));
  EXPECT_FLOAT_EQ(frame_.features[3], 1.05f);
}

TEST_F(RangesSourceTest, PacesRowsFromTheCommonStart) {
  const auto source = Make({.anchors = {0, 1, 2}, .speed = 2.0, .start_unix_ns = 4'995'000'000});
  // Rows are due at 4.995 s and every 5 ms after: two of them are due already.
  ASSERT_TRUE(source->Next({}, frame_).ok());
  ASSERT_TRUE(source->Next({}, frame_).ok());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(source->Next(stop.get_token(), frame_).code(), absl::StatusCode::kCancelled);
  clock_.Advance(5'000'000);
  ASSERT_TRUE(source->Next({}, frame_).ok());
  EXPECT_EQ(frame_.captured_unix_ns, 5'005'000'000);
}

TEST_F(RangesSourceTest, RefusesOptionsThatMakeNoSense) {
  const auto rows = *scene::ParseRanges(Recording(), EightByThree());
  const auto error = [&](const RangesSourceOptions& options) {
    return std::string(CreateRanges(rows, options, clock_).status().message());
  };
  EXPECT_THAT(error({.anchors = {0, 1, 8}}), HasSubstr("anchors: 8"));
  EXPECT_THAT(error({.anchors = {0, 1, 1}}), HasSubstr("named twice"));
  EXPECT_THAT(error({.anchors = {0, 1, 2}, .tag = 3}), HasSubstr("tag"));
  EXPECT_THAT(error({.anchors = {0, 1, 2}, .tags = {0, 0}}), HasSubstr("tags: 0 is named twice"));
  EXPECT_THAT(error({}), HasSubstr("anchors: none"));
  EXPECT_THAT(error({.anchors = {0, 1, 2}, .start_fraction = 0.6, .end_fraction = 0.5}),
              HasSubstr("start < end"));
  EXPECT_THAT(error({.anchors = {0, 1, 2}, .speed = -1}), HasSubstr("speed"));
}

}  // namespace
}  // namespace tributary::source
