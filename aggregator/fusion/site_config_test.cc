#include "aggregator/fusion/site_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggregator/fusion/frame_check.h"

namespace tributary::fusion {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kNowNs = 1'700'000'000'000'000'000;

SiteConfig Site(double slot_ms) {
  SiteConfig site;
  site.name = "hall";
  site.leaves = {"north"};
  site.slot = *estimate::SlotLength::FromMs(slot_ms);
  site.window_slots = DefaultWindowSlots(site);
  site.tuning.deadline_ns = estimate::DefaultDeadlineNs(site.slot);
  return site;
}

TEST(SiteConfigTest, TheDefaultsFitEveryLengthOfSlot) {
  for (const double slot_ms : {0.01, 0.1, 0.5, 10.0, 16.666667, 100.0, 1000.0, 60'000.0, 3'600'000.0}) {
    const SiteConfig site = Site(slot_ms);
    EXPECT_TRUE(Validate(site).ok()) << slot_ms << ": " << Validate(site);
    EXPECT_GT(site.tuning.deadline_ns, site.slot.ns()) << "a sensor out of phase reports up to a slot later";
  }
}

TEST(SiteConfigTest, TheDefaultsOfThePilotSlotAreThoseOfBefore) {
  EXPECT_EQ(Site(0.5).window_slots, 8192u);
  EXPECT_EQ(Site(0.5).tuning.deadline_ns, 5 * kMs);
}

TEST(SiteConfigTest, RemembersAsManySlotsAsTheLimitsAdmit) {
  EXPECT_EQ(Site(10).window_slots, 256u);
  EXPECT_EQ(Site(1000).window_slots, 16u);
  SiteConfig recordings = Site(10);
  recordings.max_age_ns.reset();
  EXPECT_EQ(DefaultWindowSlots(recordings), 8192u);
}

TEST(SiteConfigTest, NeverAdmitsMoreSlotsThanItSays) {
  for (const double slot_ms : {0.5, 10.0, 16.666667, 70.0, 1000.0}) {
    SiteConfig site = Site(slot_ms);
    site.max_age_ns = 130 * kMs;
    site.max_lead_ns = 25 * kMs;
    std::int64_t most = 0;
    for (std::int64_t shift_ns = 0; shift_ns < site.slot.ns(); shift_ns += site.slot.ns() / 40) {
      const std::int64_t now_ns = kNowNs + shift_ns;
      const estimate::Epoch first = site.slot.EpochAt(now_ns - 500 * kMs);
      std::int64_t admitted = 0;
      for (estimate::Epoch epoch = first; site.slot.StartNs(epoch) < now_ns + 500 * kMs; ++epoch) {
        if (!CheckEpoch(epoch, now_ns, site)) ++admitted;
      }
      most = std::max(most, admitted);
    }
    EXPECT_LE(most, *AdmittedSlots(site)) << slot_ms;
    EXPECT_GE(most, *AdmittedSlots(site) - 1) << slot_ms << ": the window is no larger than it need be";
  }
}

TEST(SiteConfigTest, ALimitThatTheWindowCannotHoldSaysHowManySlotsItIs) {
  SiteConfig site = Site(0.01);
  site.window_slots = 8192;
  EXPECT_THAT(std::string(Validate(site).message()),
              ::testing::HasSubstr("span 225001 slots of 0.01 ms, more than the window of 8192"));
}

}  // namespace
}  // namespace tributary::fusion
