#include "cli/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kUs = 1000;

// A peer that is `offset` ahead; the ways there and back take what the script says, in turn.
class ClockOffsetTest : public ::testing::Test {
 protected:
  absl::StatusOr<ClockOffset> Measure(std::int64_t offset,
                                      std::deque<std::pair<std::int64_t, std::int64_t>> ways) {
    const int exchanges = static_cast<int>(ways.size());
    return MeasureClockOffset(
        [&]() -> absl::StatusOr<std::int64_t> {
          now_ += ways.front().first;
          const std::int64_t theirs = now_ + offset;
          now_ += ways.front().second;
          ways.pop_front();
          return theirs;
        },
        [&] { return now_; }, exchanges);
  }

  std::int64_t now_ = 1'700'000'000'000'000'000;
};

TEST_F(ClockOffsetTest, IsExactWhereBothWaysTakeEquallyLong) {
  const auto offset = Measure(-70 * kUs, {{50 * kUs, 50 * kUs}});
  EXPECT_EQ(offset->offset_ns, -70 * kUs);
  EXPECT_EQ(offset->uncertainty_ns, 50 * kUs);
}

TEST_F(ClockOffsetTest, TakesTheShortestRoundTripAndStaysWithinItsHalf) {
  const auto offset =
      Measure(300 * kUs, {{9000 * kUs, 10 * kUs}, {30 * kUs, 10 * kUs}, {10 * kUs, 800 * kUs}});
  EXPECT_EQ(offset->uncertainty_ns, 20 * kUs);
  EXPECT_LE(std::abs(offset->offset_ns - 300 * kUs), offset->uncertainty_ns);
}

TEST_F(ClockOffsetTest, IgnoresAnExchangeDuringWhichTheClockWasSetBack) {
  EXPECT_EQ(Measure(5, {{-9000 * kUs, 10}, {20, 20}})->offset_ns, 5);
  EXPECT_FALSE(Measure(5, {{-9000 * kUs, 10}}).ok());
}

TEST_F(ClockOffsetTest, FailsAsThePeerDoes) {
  EXPECT_TRUE(absl::IsUnavailable(
      MeasureClockOffset([] { return absl::UnavailableError("gone"); }, [] { return std::int64_t{0}; }, 3)
          .status()));
}

TEST(DoctorClockTest, JudgesAnOffsetByHalfASlotAndByWhatIsSure) {
  EXPECT_EQ(JudgeOffset("a:1", ClockOffset{-100 * kUs, 100 * kUs}, estimate::SlotLength()).finding,
            checks::Finding::kOk);
  EXPECT_EQ(JudgeOffset("a:1", ClockOffset{-200 * kUs, 100 * kUs}, estimate::SlotLength()).finding,
            checks::Finding::kWarning);
  const checks::CheckLine off =
      JudgeOffset("a:1", ClockOffset{-400 * kUs, 100 * kUs}, estimate::SlotLength());
  EXPECT_EQ(off.finding, checks::Finding::kFault);
  EXPECT_THAT(off.found, HasSubstr("the clock of the aggregator at a:1 is 400.0 us behind, +/- 100.0 us"));
  EXPECT_THAT(off.remedy, HasSubstr("chrony or ptp4l"));
  EXPECT_EQ(JudgeOffset("a:1", absl::UnavailableError("refused"), estimate::SlotLength()).finding,
            checks::Finding::kFault);
}

TEST(DoctorClockTest, JudgesByTheSlotOfTheSite) {
  const estimate::SlotLength slot = *estimate::SlotLength::FromMs(10);
  EXPECT_EQ(JudgeOffset("a:1", ClockOffset{4'000 * kUs, 100 * kUs}, slot).finding, checks::Finding::kOk);
  const checks::CheckLine doubtful = JudgeOffset("a:1", ClockOffset{4'950 * kUs, 100 * kUs}, slot);
  EXPECT_EQ(doubtful.finding, checks::Finding::kWarning);
  EXPECT_THAT(doubtful.remedy, HasSubstr("half a slot of 10 ms"));
  EXPECT_EQ(JudgeOffset("a:1", ClockOffset{5'200 * kUs, 100 * kUs}, slot).finding, checks::Finding::kFault);
}

// A node of two panels, and what the site says.
class DoctorSiteTest : public ::testing::Test {
 protected:
  std::string Judge(const absl::StatusOr<SiteFacts>& facts) {
    DoctorOptions options;
    options.site = "lab";
    options.sources = {"south", "east"};
    checks::CheckReport report;
    JudgeSite(options, facts, report);
    has_fault_ = report.has_fault();
    return report.Text();
  }

  bool has_fault_ = false;
};

TEST_F(DoctorSiteTest, FindsNoFaultInASiteThatHasTheSlotsAndTheSources) {
  EXPECT_THAT(Judge(SiteFacts{{"north", "east", "south"}, {}}), HasSubstr("ok       site"));
}

TEST_F(DoctorSiteTest, FindsSlotsOfAnotherLength) {
  EXPECT_THAT(Judge(SiteFacts{{"east", "south"}, *estimate::SlotLength::FromMs(10)}),
              HasSubstr("\"lab\" counts slots of 10 ms, the node of 0.5 ms"));
  EXPECT_TRUE(has_fault_);
}

TEST_F(DoctorSiteTest, FindsASourceThatTheSiteDoesNotHave) {
  EXPECT_THAT(Judge(SiteFacts{{"south", "west"}, {}}),
              HasSubstr("\"east\" is not a source of \"lab\", which has south, west"));
  EXPECT_TRUE(has_fault_);
}

TEST_F(DoctorSiteTest, SaysWhatWasNotCompared) {
  EXPECT_THAT(Judge(absl::PermissionDeniedError("no viewer")),
              ::testing::AllOf(HasSubstr("warning  site"), HasSubstr("not compared: no viewer")));
  EXPECT_FALSE(has_fault_);
}

TEST(DoctorRemedyTest, FitsWhatTheAggregatorAnswered) {
  DoctorOptions options;
  options.node = "board";
  EXPECT_THAT(AggregatorRemedy(absl::UnavailableError("nobody listens at a:1"), options),
              HasSubstr("Start the aggregator"));
  EXPECT_THAT(AggregatorRemedy(absl::UnavailableError("the TLS handshake failed"), options),
              ::testing::AllOf(HasSubstr("certificates"), ::testing::Not(HasSubstr("Start"))));
  EXPECT_THAT(
      AggregatorRemedy(absl::PermissionDeniedError("the certificate of \"board\" is revoked: make another"),
                       options),
      HasSubstr("another certificate"));
  EXPECT_THAT(
      AggregatorRemedy(absl::PermissionDeniedError("\"board\" is in refused in [access] of the aggregator"),
                       options),
      HasSubstr("take the name out of refused"));
  const absl::Status denied = absl::PermissionDeniedError("no");
  EXPECT_THAT(AggregatorRemedy(denied, options), HasSubstr("[[site.owner]]"));
  options.only_learns = true;
  EXPECT_THAT(AggregatorRemedy(denied, options), HasSubstr("Add \"board\" to nodes in [access]"));
}

}  // namespace
}  // namespace tributary::cli
