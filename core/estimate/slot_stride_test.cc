#include "core/estimate/slot_stride.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tributary::estimate {
namespace {

using ::testing::HasSubstr;

SlotLength SlotOfMs(double ms) { return *SlotLength::FromMs(ms); }

TEST(SlotStrideTest, IsTheSlotsFromFrameToFrame) {
  EXPECT_EQ(*SlotStride(2000, SlotOfMs(0.5)), 1u);
  EXPECT_EQ(*SlotStride(200, SlotOfMs(0.5)), 10u);
  EXPECT_EQ(*SlotStride(10, SlotOfMs(100)), 1u);
  EXPECT_EQ(*SlotStride(0.01, SlotOfMs(1000)), 100u);
}

TEST(SlotStrideTest, TakesRatesAsTheyAreWritten) {
  EXPECT_EQ(*SlotStride(60, SlotOfMs(16.666667)), 1u);
  EXPECT_EQ(*SlotStride(33.333, SlotOfMs(10)), 3u);
  EXPECT_EQ(*SlotStride(666.667, SlotOfMs(0.5)), 3u);
}

TEST(SlotStrideTest, RefusesTwoFramesInASlotAndSlotsThatWouldBeMissed) {
  for (const double rate : {0.0, -1.0, 2000.5, 1999.0, 1500.0, 4000.0, 1e-9, 1e300, std::nan(""), HUGE_VAL}) {
    EXPECT_FALSE(SlotStride(rate, SlotOfMs(0.5)).ok()) << rate;
  }
  EXPECT_THAT(std::string(SlotStride(200, SlotOfMs(10)).status().message()),
              HasSubstr("rate_hz: 200; slots of 10 ms allow 100 divided by a whole number"));
}

TEST(SlotStrideTest, TheDefaultIsOneFrameASlotUpToTwoThousandASecond) {
  EXPECT_DOUBLE_EQ(DefaultRateHz(SlotOfMs(0.5)), 2000);
  EXPECT_DOUBLE_EQ(DefaultRateHz(SlotOfMs(100)), 10);
  for (const double ms : {0.01, 0.3, 0.4999, 0.7, 16.666667, 3'600'000.0}) {
    EXPECT_TRUE(SlotStride(DefaultRateHz(SlotOfMs(ms)), SlotOfMs(ms)).ok()) << ms;
    EXPECT_LE(DefaultRateHz(SlotOfMs(ms)), 2000) << ms;
  }
}

}  // namespace
}  // namespace tributary::estimate
