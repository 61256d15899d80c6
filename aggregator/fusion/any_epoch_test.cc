// Sites without max_age and max_lead.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aggregator/fusion/fusion_fixture.h"

namespace tributary::fusion {
namespace {

// A site that plays recordings admits every epoch. Frames of epochs near 2^64 took every place for good.
class AnyEpochTest : public FusionFixture {
 protected:
  AnyEpochTest() {
    site_.window_slots = 16;
    site_.max_age_ns.reset();
    site_.max_lead_ns.reset();
  }
  void OfferStrayFrames(std::uint64_t from = UINT64_MAX) {
    for (std::uint64_t i = 0; i < 16; ++i) Offer("west", Frame(from - i, {9.0f}));
  }
  // How many of these slots the honest sources get through, each its own way.
  std::size_t HonestSlots(const std::vector<std::string>& sources, estimate::Epoch from, std::size_t count) {
    std::size_t taken = 0;
    for (estimate::Epoch epoch = from; epoch < from + count; ++epoch) {
      bool all = true;
      for (const std::string& source : sources) all = Offer(source, Frame(epoch, {1.0f})).accepted && all;
      taken += all;
      Wait(site_.slot.ns());
    }
    return taken;
  }
  void Wait(std::int64_t ns) {
    now_.steady_ns += ns;
    engine_->Advance(now_, out_);
  }
};

TEST_F(AnyEpochTest, OneSourceWithEpochsNearTheLastHoldsNoPlaceAgainstTwoOthers) {
  Start();
  EXPECT_EQ(HonestSlots({"north", "east"}, kEpoch, 20), 20u);
  for (int again = 0; again < 3; ++again) {
    OfferStrayFrames(UINT64_MAX - 16 * again);
    EXPECT_EQ(HonestSlots({"north", "east"}, kEpoch + 20 + 40 * again, 40), 40u);
  }
  for (const estimate::FusedSlot& slot : out_.all()) {
    const bool stray = slot.epoch > 2 * kEpoch;
    EXPECT_FLOAT_EQ(slot.means[0], stray ? 9.0f : 1.0f) << slot.epoch;
  }
}

TEST_F(AnyEpochTest, AStrayFrameDoesNotCloseASlotOfTheOthers) {
  Start();
  EXPECT_EQ(HonestSlots({"north", "east"}, kEpoch, 20), 20u);
  Offer("north", Frame(kEpoch + 20, {1.0f}));
  EXPECT_EQ(ReasonOf(Offer("west", Frame(kEpoch + 20 + (std::uint64_t{1} << 40), {9.0f}))),
            RefusalReason::kEpochFuture);
  EXPECT_TRUE(Offer("east", Frame(kEpoch + 20, {1.0f})).accepted);
}

TEST_F(AnyEpochTest, ASourceAloneGetsItsPlacesBackAtTheDeadlineOfTheStrayFrames) {
  Start();
  OfferStrayFrames();
  Wait(site_.tuning.deadline_ns);
  EXPECT_EQ(HonestSlots({"north"}, kEpoch, 40), 40u);
}

TEST_F(AnyEpochTest, PlacesThatALittleTooLateAnEpochHoldsAreFreeAfterAWindow) {
  Start();
  OfferStrayFrames(kEpoch + 63);
  Wait(site_.tuning.deadline_ns);
  EXPECT_EQ(HonestSlots({"north"}, kEpoch, 1), 0u);
  Wait(16 * site_.slot.ns());
  EXPECT_EQ(HonestSlots({"north"}, kEpoch, 16), 16u);
}

TEST_F(AnyEpochTest, ARecordingMayBeginAgainOrBeFollowedByALaterOne) {
  Start();
  const std::vector<std::string> all = {"north", "east", "south", "west"};
  for (const estimate::Epoch from : {kEpoch, kEpoch / 2, 2 * kEpoch, estimate::Epoch{0}}) {
    EXPECT_GE(HonestSlots(all, from, 40), 39u)
        << "the first source comes to nothing until a second one follows";
  }
}

}  // namespace
}  // namespace tributary::fusion
