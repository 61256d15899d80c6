#include "cli/watch/watch_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace tributary::cli {
namespace {

// Everybody stands at the origin; nobody knows where subject 99 is.
truth::TrueState AtOrigin(std::uint32_t subject, estimate::Epoch, estimate::SlotLength) {
  if (subject == 99) return {};
  return truth::PlanePosition{0.0, 0.0};
}

class WatchStatisticsTest : public ::testing::Test {
 protected:
  // Two subjects, one leaf of two missing for the second if `complete` is false.
  static wire::WatchedSlot Slot(float x, float y, bool complete = true) {
    wire::WatchedSlot slot;
    slot.subjects = {1, 2};
    slot.means = {x, y, x, y};
    slot.cholesky = {0.5f, 0, 0.25f, 0.5f, 0, 0.25f};
    slot.contributors = {3, complete ? 3u : 1u};
    slot.consistency = {1, 1};
    slot.captured_unix_ns = 1000;
    return slot;
  }
  void Add(const wire::WatchedSlot& slot, std::int64_t at_ns) { statistics_.Add(slot, site_, at_ns, at_ns); }

  wire::SiteDescription site_{.name = "lab", .leaves = {"north", "south"}, .classes = {}, .slot = {}};
  WatchStatistics statistics_{AtOrigin};
};

TEST_F(WatchStatisticsTest, IsZeroBeforeTheFirstSlot) {
  EXPECT_EQ(statistics_.figures().fused_per_s, 0);
  EXPECT_EQ(statistics_.figures().slots, 0u);
}

TEST_F(WatchStatisticsTest, CountsRatesByIntervals) {
  for (int i = 0; i <= 10; ++i) Add(Slot(0, 0), 1'000'000'000 + i * 100'000'000);
  const WatchFigures figures = statistics_.figures();
  EXPECT_DOUBLE_EQ(figures.seconds, 1.0);
  EXPECT_DOUBLE_EQ(figures.slots_per_s, 10.0);
  EXPECT_DOUBLE_EQ(figures.fused_per_s, 20.0);
}

TEST_F(WatchStatisticsTest, JudgesErrorAndConsistencyAgainstTheTruth) {
  Add(Slot(0.03f, 0.04f), 2000);
  const WatchFigures figures = statistics_.figures();
  EXPECT_EQ(figures.judged, 2u);
  EXPECT_NEAR(figures.mean_error_cm, 5.0, 1e-5);
  EXPECT_NEAR(figures.max_error_cm, 5.0, 1e-5);
  // (0.03 / 0.5)² + (0.04 / 0.25)²
  EXPECT_NEAR(figures.nees, 0.0292, 1e-6);
}

TEST_F(WatchStatisticsTest, JudgesEachWindowOfTheSitesTime) {
  statistics_ = WatchStatistics(AtOrigin, 0.002);
  for (const auto& [epoch, x] : {std::pair(8u, 0.01f), std::pair(11u, 0.03f), std::pair(12u, 0.2f)}) {
    wire::WatchedSlot slot = Slot(x, 0);
    slot.epoch = epoch;  // of half a millisecond
    Add(slot, 2000);
  }
  const std::vector<WindowFigures> windows = statistics_.windows();
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].begin_unix_ns, 4'000'000);
  EXPECT_EQ(windows[0].judged, 4u);
  EXPECT_NEAR(windows[0].error_cm_sum, 8, 1e-5);
  EXPECT_EQ(windows[1].begin_unix_ns, 6'000'000);
  const std::string line = FiguresLine(statistics_.figures(), windows);
  EXPECT_NE(line.find(R"({"begin_unix_ns":4000000,"judged":4,"mean_error_cm":2.0,"nees":0.002})"),
            std::string::npos)
      << line;
  EXPECT_EQ(FiguresLine(statistics_.figures()).find("windows"), std::string::npos);
}

TEST_F(WatchStatisticsTest, TooManyWindowsTakeNoMemory) {
  statistics_ = WatchStatistics(AtOrigin, 0.0005);
  for (std::uint32_t i = 0; i < 2 * WatchStatistics::kMostWindows; ++i) {
    wire::WatchedSlot slot = Slot(0, 0);
    slot.epoch = i;
    Add(slot, 2000);
  }
  EXPECT_EQ(statistics_.windows().size(), WatchStatistics::kMostWindows);
}

TEST_F(WatchStatisticsTest, JudgesACorrelatedEstimateByItsWholeFactor) {
  wire::WatchedSlot slot = Slot(1, 1);
  slot.cholesky = {1, 1, 1, 1, 1, 1};  // covariance [[1, 1], [1, 2]], whose inverse is [[2, -1], [-1, 1]]
  Add(slot, 2000);
  EXPECT_NEAR(statistics_.figures().nees, 1.0, 1e-12);
}

TEST_F(WatchStatisticsTest, DoesNotJudgeWhereTheTruthIsNotKnown) {
  wire::WatchedSlot slot = Slot(1, 1);
  slot.subjects[1] = 99;
  Add(slot, 2000);
  EXPECT_EQ(statistics_.figures().judged, 1u);
}

// A subject walks along x by a metre a second.
truth::TrueState Walking(std::uint32_t, estimate::Epoch epoch, estimate::SlotLength slot) {
  return truth::PlanePosition{1e-9 * static_cast<double>(slot.StartNs(epoch)), 0.0};
}

TEST_F(WatchStatisticsTest, JudgesByTheTimeThatAnEpochHasInItsSite) {
  WatchStatistics statistics(Walking);
  wire::WatchedSlot slot = Slot(3, 0);
  site_.slot = *estimate::SlotLength::FromMs(100);
  slot.epoch = 30;
  statistics.Add(slot, site_, 2000, 2000);
  EXPECT_NEAR(statistics.figures().max_error_cm, 0, 1e-5);
}

TEST_F(WatchStatisticsTest, MeasuresFromCaptureToReader) {
  Add(Slot(0, 0), 1000 + 30);
  EXPECT_DOUBLE_EQ(statistics_.figures().latency_p50_us, 0.03);
}

TEST_F(WatchStatisticsTest, ACaptureTimeThatNoClockCanShowOverflowsNothing) {
  wire::WatchedSlot slot = Slot(0, 0);
  slot.captured_unix_ns = std::numeric_limits<std::int64_t>::min();
  Add(slot, 1);
  slot.captured_unix_ns = std::numeric_limits<std::int64_t>::max();
  Add(slot, -2);
  EXPECT_EQ(statistics_.figures().slots, 2u);
  EXPECT_GT(statistics_.figures().latency_p99_us, 9e15);
  EXPECT_EQ(statistics_.figures().latency_p50_us, 0);
}

TEST_F(WatchStatisticsTest, CountsIncompleteSlotsAndSkippedOnes) {
  wire::WatchedSlot slot = Slot(0, 0, false);
  slot.skipped_slots = 4;
  Add(slot, 2000);
  Add(Slot(0, 0), 3000);
  EXPECT_EQ(statistics_.figures().incomplete_slots, 1u);
  EXPECT_EQ(statistics_.figures().skipped_slots, 4u);
}

TEST_F(WatchStatisticsTest, JudgesASlotTheFirstTimeOnly) {
  Add(Slot(0, 0), 2000);
  wire::WatchedSlot again = Slot(9, 9);
  again.revision = 1;
  Add(again, 3000);
  EXPECT_EQ(statistics_.figures().slots, 1u);
  EXPECT_EQ(statistics_.figures().revisions, 1u);
  EXPECT_EQ(statistics_.figures().max_error_cm, 0);
}

TEST_F(WatchStatisticsTest, LeavesErrorsOutOfTheSummaryWithoutTruth) {
  WatchStatistics blind(truth::Truth{});
  blind.Add(Slot(1, 1), site_, 2000, 2000);
  const auto summary = nlohmann::json::parse(FiguresLine(blind.figures()));
  EXPECT_FALSE(summary.contains("mean_error_cm"));
  EXPECT_EQ(summary["fused_tuples"], 2);
}

TEST_F(WatchStatisticsTest, ShowsEachSubjectWithItsErrorAndSources) {
  WatchView view;
  view.site = site_;
  view.slot = Slot(0.03f, 0.04f, false);
  const auto lines = TableLines(view, AtOrigin);
  ASSERT_GE(lines.size(), 5u);
  EXPECT_THAT(lines[3], ::testing::AllOf(::testing::HasSubstr("0.030"), ::testing::HasSubstr("5.00"),
                                         ::testing::HasSubstr("2/2")));
  EXPECT_THAT(lines[4], ::testing::HasSubstr("1/2"));
}

TEST_F(WatchStatisticsTest, ShowsTheTwoLikeliestClassesOfASubject) {
  WatchView view;
  view.site = site_;
  view.site.classes = {"BPSK", "QPSK", "8PSK\x1b[31m"};
  view.slot = Slot(0, 0);
  view.slot.set_shape({.dimension = 0, .classes = 3});
  view.slot.means.clear();
  view.slot.cholesky.clear();
  const float likely = std::log(0.75f);
  const float less = std::log(0.2f);
  const float least = std::log(0.05f);
  view.slot.log_probabilities = {less, likely, least, least, less, likely};
  const auto lines = TableLines(view, AtOrigin);
  ASSERT_GE(lines.size(), 5u);
  EXPECT_THAT(lines[2], ::testing::HasSubstr("class"));
  EXPECT_THAT(lines[3], ::testing::ContainsRegex("QPSK +0.7500 +BPSK +0.2000"));
  EXPECT_THAT(lines[4], ::testing::HasSubstr("8PSK\\x1b[31m"));
  EXPECT_THAT(lines[4], ::testing::HasSubstr("0.7500"));
}

// Everybody sends QPSK.
truth::TrueState Qpsk(std::uint32_t, estimate::Epoch, estimate::SlotLength) { return "QPSK"; }

TEST_F(WatchStatisticsTest, JudgesClassesByTheNameOfTheTrueOne) {
  WatchStatistics statistics(Qpsk);
  site_.classes = {"BPSK", "QPSK"};
  wire::WatchedSlot slot = Slot(0, 0);
  slot.set_shape({.dimension = 0, .classes = 2});
  slot.means.clear();
  slot.cholesky.clear();
  const float likely = std::log(0.9f);
  const float unlikely = std::log(0.1f);
  slot.log_probabilities = {unlikely, likely, likely, unlikely};
  statistics.Add(slot, site_, 2000, 2000);
  EXPECT_EQ(statistics.figures().classes.judged, 2u);
  EXPECT_DOUBLE_EQ(statistics.figures().classes.accuracy, 0.5);
  const auto summary = nlohmann::json::parse(FiguresLine(statistics.figures()));
  EXPECT_EQ(summary["judged"], 2);
  EXPECT_EQ(summary["accuracy"], 0.5);
  EXPECT_FALSE(summary.contains("mean_error_cm"));

  WatchView view;
  view.site = site_;
  view.slot = slot;
  EXPECT_THAT(TableLines(view, Qpsk)[3], ::testing::ContainsRegex("QPSK +QPSK +0.9000"));
}

TEST_F(WatchStatisticsTest, DoesNotJudgeAClassThatTheSiteDoesNotHave) {
  WatchStatistics statistics(Qpsk);
  site_.classes = {"BPSK", "8PSK"};
  wire::WatchedSlot slot = Slot(0, 0);
  slot.set_shape({.dimension = 0, .classes = 2});
  slot.means.clear();
  slot.cholesky.clear();
  slot.log_probabilities = {0, -20, 0, -20};
  statistics.Add(slot, site_, 2000, 2000);
  EXPECT_EQ(statistics.figures().classes.judged, 0u);
}

TEST_F(WatchStatisticsTest, JudgesNoClassAgainstAPosition) {
  wire::WatchedSlot slot = Slot(0, 0);
  slot.set_shape({.dimension = 0, .classes = 2});
  slot.means.clear();
  slot.cholesky.clear();
  slot.log_probabilities = {0, -20, 0, -20};
  Add(slot, 2000);
  EXPECT_EQ(statistics_.figures().judged, 0u);
  EXPECT_EQ(statistics_.figures().fused, 2u);
}

}  // namespace
}  // namespace tributary::cli
