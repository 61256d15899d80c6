#include "node/panel/panel_collation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::panel {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kDeadline = 100;

class PanelCollationTest : public ::testing::Test {
 protected:
  void Add(std::size_t panel, estimate::Epoch epoch, std::int64_t now = 0) {
    estimate::TupleFrame frame;
    frame.epoch = epoch;
    frame.subjects = {static_cast<std::uint32_t>(panel)};
    collation_.Add(panel, frame, now);
  }
  // Epochs that are due, and the number of panels in each.
  std::vector<std::pair<estimate::Epoch, std::size_t>> Due(std::int64_t now = 0) {
    std::vector<std::pair<estimate::Epoch, std::size_t>> due;
    while (collation_.Take(now, slot_)) due.emplace_back(slot_.epoch, slot_.arrived);
    return due;
  }
  using Slot = std::pair<estimate::Epoch, std::size_t>;

  PanelCollation collation_{2, kDeadline};
  PanelSlot slot_;
};

TEST_F(PanelCollationTest, GivesASlotOnceAllPanelsHaveDelivered) {
  Add(1, 7);
  EXPECT_THAT(Due(), ElementsAre());
  Add(0, 7);
  EXPECT_THAT(Due(), ElementsAre(Slot(7, 2)));
  EXPECT_THAT(slot_.frames[0].subjects, ElementsAre(0));
  EXPECT_THAT(slot_.frames[1].subjects, ElementsAre(1));
}

TEST_F(PanelCollationTest, ACompleteSlotEndsTheWaitForEarlierOnesAndNotForLaterOnes) {
  Add(0, 5);
  Add(0, 7);
  Add(0, 6);
  Add(1, 6);
  EXPECT_THAT(Due(), ElementsAre(Slot(5, 1), Slot(6, 2)));
  Add(1, 7);
  EXPECT_THAT(Due(), ElementsAre(Slot(7, 2)));
}

TEST_F(PanelCollationTest, GivesWhatThereIsAtTheDeadline) {
  Add(1, 7, 1000);
  EXPECT_EQ(collation_.next_due_ns(), 1000 + kDeadline);
  EXPECT_THAT(Due(1000 + kDeadline - 1), ElementsAre());
  EXPECT_THAT(Due(1000 + kDeadline), ElementsAre(Slot(7, 1)));
  EXPECT_TRUE(slot_.frames[0].subjects.empty());
  EXPECT_EQ(collation_.next_due_ns(), PanelCollation::kNever);
}

TEST_F(PanelCollationTest, CountsAFrameThatComesTooLateOrTwice) {
  Add(0, 7);
  Add(0, 7);
  EXPECT_EQ(collation_.counters().late_frames, 1u);
  EXPECT_THAT(Due(kDeadline), ElementsAre(Slot(7, 1)));
  Add(1, 7);
  EXPECT_EQ(collation_.counters().late_frames, 2u);
  EXPECT_THAT(Due(2 * kDeadline), ElementsAre());
}

TEST_F(PanelCollationTest, AnEpochFarAheadHarmsNoOtherSlot) {
  Add(0, 1ULL << 60);
  Add(1, 1ULL << 60);
  EXPECT_THAT(Due(), ElementsAre(Slot(1ULL << 60, 2)));
  Add(0, 8);
  EXPECT_THAT(Due(), ElementsAre());
  Add(1, 8);
  EXPECT_THAT(Due(), ElementsAre(Slot(8, 2)));
}

TEST_F(PanelCollationTest, DropsTheOldestSlotWhenItIsFullAndCountsIt) {
  for (estimate::Epoch epoch = 1; epoch <= PanelCollation::kCapacity + 2; ++epoch) Add(0, epoch);
  EXPECT_EQ(collation_.counters().dropped_slots, 2u);
  Add(1, 2);  // dropped
  EXPECT_EQ(collation_.counters().late_frames, 1u);
  const auto due = Due(kDeadline);
  ASSERT_EQ(due.size(), PanelCollation::kCapacity);
  EXPECT_EQ(due.front(), Slot(3, 1));
  EXPECT_EQ(due.back(), Slot(PanelCollation::kCapacity + 2, 1));
}

}  // namespace
}  // namespace tributary::panel
