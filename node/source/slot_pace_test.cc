#include "node/source/slot_pace.h"

#include <gtest/gtest.h>

namespace tributary::source {
namespace {

estimate::SlotLength Ms(double ms) { return *estimate::SlotLength::FromMs(ms); }

TEST(SlotPaceTest, AReaderMayLagTwoFramesHoweverRareTheyAre) {
  EXPECT_EQ(MaxLagSlots(1, Ms(0.5)), 400u);
  EXPECT_EQ(MaxLagSlots(2000, Ms(0.5)), 4000u);
  EXPECT_EQ(MaxLagSlots(1, Ms(1000)), 2u);
}

}  // namespace
}  // namespace tributary::source
