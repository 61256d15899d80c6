#include "core/link/uplink_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/runtime/captured_log.h"

namespace tributary::link {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecondNs = 1'000'000'000;

class UplinkLogTest : public ::testing::Test {
 protected:
  static UplinkCounters Dropped(std::uint64_t frames) {
    UplinkCounters counters;
    counters.spool.dropped_frames = frames;
    return counters;
  }
  static UplinkCounters Refused(std::uint64_t frames) {
    UplinkCounters counters;
    counters.refusals.frames[v1::REFUSAL_REASON_EPOCH_PAST] = frames;
    return counters;
  }
  static UplinkCounters Held(std::size_t frames) {
    UplinkCounters counters;
    counters.spool.held_frames = frames;
    return counters;
  }

  const runtime::CapturedLog log_;
  UplinkLog uplink_{"hub:7400 as north", "the spool is full"};
};

TEST_F(UplinkLogTest, SaysTheFirstDropAtOnceAndTheOthersEveryTenSeconds) {
  uplink_.Losses(Dropped(0), kSecondNs);
  EXPECT_EQ(log_.lines(), 0);
  uplink_.Losses(Dropped(1), 2 * kSecondNs);
  EXPECT_THAT(log_.text(), HasSubstr("hub:7400 as north: 1 frame dropped: the spool is full"));
  uplink_.Losses(Dropped(700), 3 * kSecondNs);
  uplink_.Losses(Dropped(2'001), 11 * kSecondNs);
  EXPECT_EQ(log_.lines(), 1) << log_.text();
  uplink_.Losses(Dropped(4'001), 12 * kSecondNs);
  EXPECT_THAT(log_.text(), HasSubstr("4000 frames dropped, 4001 in all: the spool is full"));
  uplink_.Losses(Dropped(4'001), 60 * kSecondNs);
  EXPECT_EQ(log_.lines(), 2) << "no more";
  uplink_.Losses(Dropped(4'002), 61 * kSecondNs);
  EXPECT_THAT(log_.text(), HasSubstr("1 frame dropped, 4002 in all"));
}

TEST_F(UplinkLogTest, SaysAtTheEndWhatItHasNotSaid) {
  uplink_.Losses(Dropped(2), kSecondNs);
  uplink_.Losses(Dropped(493), 2 * kSecondNs);
  EXPECT_EQ(log_.lines(), 1) << log_.text();
  UplinkCounters end = Dropped(493);
  end.refusals = Refused(7).refusals;
  uplink_.RestOfLosses(end);
  EXPECT_THAT(log_.text(), HasSubstr("491 frames dropped, 493 in all"));
  EXPECT_THAT(log_.text(), HasSubstr("7 frames refused (epoch_past): max_age_s of the site"));
  EXPECT_EQ(log_.lines(), 3);
  uplink_.RestOfLosses(end);
  EXPECT_EQ(log_.lines(), 3) << "once";
}

// After an outage the aggregator refuses the frames that waited, in a burst.
TEST_F(UplinkLogTest, GathersTheFirstRefusalsOfAReason) {
  uplink_.Losses(Refused(1), kSecondNs);
  uplink_.Losses(Refused(850), 2 * kSecondNs);
  EXPECT_EQ(log_.lines(), 0);
  uplink_.Losses(Refused(850), 3 * kSecondNs);
  EXPECT_THAT(log_.text(), HasSubstr("hub:7400 as north: 850 frames refused (epoch_past): max_age_s"));
  uplink_.Losses(Refused(851), 4 * kSecondNs);
  EXPECT_EQ(log_.lines(), 1);
  uplink_.Losses(Refused(852), 13 * kSecondNs);
  EXPECT_THAT(log_.text(), HasSubstr("2 frames refused (epoch_past), 852 in all"));
}

TEST_F(UplinkLogTest, TellsTheDropsOfMemoryAndDiskApart) {
  UplinkCounters counters = Dropped(100);
  counters.disk = DiskBacklogCounters{.over_budget_frames = 30, .expired_frames = 60};
  uplink_.Losses(counters, kSecondNs);
  EXPECT_THAT(log_.text(), HasSubstr("10 frames dropped: the spool is full"));
  EXPECT_THAT(log_.text(), HasSubstr("30 frames dropped: spool_dir has its spool_dir_bytes"));
  EXPECT_EQ(log_.lines(), 2) << "the disk says what is too old";
}

TEST_F(UplinkLogTest, CountsWhatIsOnTheDiskAmongWhatIsHeld) {
  UplinkCounters counters = Held(2);
  counters.disk = DiskBacklogCounters{.stored_frames = 2'402};
  uplink_.Lost(absl::UnavailableError("nobody listens"), true, counters, kSecondNs);
  EXPECT_THAT(log_.text(), HasSubstr("2 frames and 2402 on the disk held, retrying"));
  uplink_.Reporting(1, counters);
  EXPECT_THAT(log_.text(), HasSubstr("1 frame and 2402 on the disk to send"));
}

TEST_F(UplinkLogTest, SaysTheEndOfAStreamAtOnceAndAttemptsInVainEveryTenSeconds) {
  const absl::Status why = absl::UnavailableError("nobody listens");
  uplink_.Lost(why, true, Held(3), kSecondNs);
  uplink_.Lost(why, false, Held(4), 2 * kSecondNs);
  EXPECT_EQ(log_.lines(), 1) << log_.text();
  uplink_.Lost(why, true, Held(5), 3 * kSecondNs);
  EXPECT_THAT(log_.text(), HasSubstr("5 frames held, retrying"));
  uplink_.Lost(why, false, Held(6), 13 * kSecondNs);
  EXPECT_EQ(log_.lines(), 3) << log_.text();
}

}  // namespace
}  // namespace tributary::link
