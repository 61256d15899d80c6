#include "node/source/slot_pace.h"

#include <gtest/gtest.h>

#include <utility>

namespace tributary::source {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

// Sleeps take no time. The clock can be set while somebody sleeps.
class SettableClock final : public runtime::Clock {
 public:
  std::int64_t UnixNs() const override { return now_ns_; }
  std::int64_t SteadyNs() const override { return now_ns_; }
  void SleepUntil(std::int64_t unix_ns, std::stop_token) const override {
    now_ns_ = set_in_sleep_ns_ > 0 ? std::exchange(set_in_sleep_ns_, 0) : unix_ns;
  }
  void Set(std::int64_t unix_ns) { now_ns_ = unix_ns; }
  void SetInNextSleep(std::int64_t unix_ns) { set_in_sleep_ns_ = unix_ns; }

 private:
  mutable std::int64_t now_ns_ = 1000 * kSecondNs;
  mutable std::int64_t set_in_sleep_ns_ = 0;
};

estimate::SlotLength Ms(double ms) { return *estimate::SlotLength::FromMs(ms); }

TEST(SlotPaceTest, AReaderMayLagTwoFramesHoweverRareTheyAre) {
  EXPECT_EQ(MaxLagSlots(1, Ms(0.5)), 400u);
  EXPECT_EQ(MaxLagSlots(2000, Ms(0.5)), 4000u);
  EXPECT_EQ(MaxLagSlots(1, Ms(1000)), 2u);
}

TEST(SlotPaceTest, AClockThatIsSetBackDuringASleepStopsNoPanel) {
  SettableClock clock;
  SlotPace pace = *SlotPace::Create(100, Ms(10), clock);
  pace.CatchUp();
  ASSERT_EQ(*pace.Wait({}), Ms(10).EpochAt(1000 * kSecondNs) + 1);
  clock.SetInNextSleep(400 * kSecondNs);
  pace.CatchUp();
  EXPECT_EQ(*pace.Wait({}), Ms(10).EpochAt(400 * kSecondNs) + 1);
  EXPECT_EQ(pace.missed_frames(), 0u);
}

TEST(SlotPaceTest, AClockThatIsSetAheadLeavesOutTheSlotsInBetween) {
  SettableClock clock;
  SlotPace pace = *SlotPace::Create(100, Ms(10), clock);
  pace.CatchUp();
  ASSERT_TRUE(pace.Wait({}).ok());
  clock.Set(1005 * kSecondNs);
  pace.CatchUp();
  EXPECT_EQ(*pace.Wait({}), Ms(10).EpochAt(1005 * kSecondNs) + 1);
  EXPECT_EQ(pace.missed_frames(), 499u);
}

}  // namespace
}  // namespace tributary::source
