// When slots are fused, and frames of which epochs are taken.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "aggregator/fusion/fusion_fixture.h"

namespace tributary::fusion {
namespace {

class SlotTimesTest : public FusionFixture {};

TEST_F(SlotTimesTest, FusesWhatIsThereAtTheDeadline) {
  Start();
  Offer("north", Frame(kEpoch, {1.0f}));
  now_.steady_ns = 2 * kMs;
  Offer("east", Frame(kEpoch, {3.0f}));
  EXPECT_EQ(engine_->NextDeadline(), 5 * kMs);
  now_.steady_ns = 5 * kMs - 1;
  engine_->Advance(now_, out_);
  EXPECT_EQ(engine_->NextDeadline(), 5 * kMs);
  EXPECT_TRUE(out_.empty());
  now_.steady_ns = 5 * kMs;
  engine_->Advance(now_, out_);
  EXPECT_EQ(engine_->NextDeadline(), FusionEngine::kNoDeadline);
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_FLOAT_EQ(out_[0].means[0], 2.0f);
  EXPECT_EQ(out_[0].contributors[0], 0b0011u);
  EXPECT_EQ(engine_->counters().slots_at_deadline, 1u);
  EXPECT_EQ(engine_->leaves()[2].missed_slots, 1u);
}

// A node whose clock is ahead, or which wants the others out: its slots wait for the others all the same.
TEST_F(SlotTimesTest, AFrameFromTheFutureClosesNoSlotBeforeTheOthersCanReport) {
  Start();
  constexpr int kAhead = 10;  // 5 ms: as long as the deadline
  Offer("north", Frame(kEpoch + kAhead, {1.0f}));
  Offer("north", Frame(kEpoch + 1, {1.0f}));
  EXPECT_EQ(engine_->NextDeadline(), kMs / 2 + 5 * kMs);
  now_.steady_ns += 5 * kMs;
  now_.unix_ns += 5 * kMs;
  engine_->Advance(now_, out_);
  EXPECT_TRUE(out_.empty()) << "slots that have just begun";
  now_.steady_ns += 4 * kMs;
  now_.unix_ns += 4 * kMs;
  engine_->Advance(now_, out_);
  EXPECT_EQ(out_.size(), 1u) << "the one that nobody else reported";
  for (const std::string source : {"east", "south", "west"}) {
    EXPECT_TRUE(Offer(source, Frame(kEpoch + kAhead, {1.0f})).accepted) << source;
  }
  EXPECT_EQ(engine_->counters().slots_complete, 1u);
  EXPECT_EQ(out_[1].contributors[0], 0b1111u);
  EXPECT_EQ(engine_->NextDeadline(), FusionEngine::kNoDeadline);
}

TEST_F(SlotTimesTest, ASlotReportedAheadOfItsTimeIsFusedAtItsOwnDeadlineWhateverTheOrder) {
  Start();
  for (const int ahead : {7, 3, 9, 5}) Offer("north", Frame(kEpoch + static_cast<unsigned>(ahead), {1.0f}));
  Offer("east", Frame(kEpoch, {1.0f}));
  EXPECT_EQ(engine_->counters().open_slots, 5u);
  for (int i = 0; i < 40; ++i) {
    now_.steady_ns += kMs / 4;
    now_.unix_ns += kMs / 4;
    engine_->Advance(now_, out_);
  }
  ASSERT_EQ(out_.size(), 5u);
  for (std::size_t i = 1; i < out_.size(); ++i) EXPECT_GT(out_[i].epoch, out_[i - 1].epoch);
  EXPECT_EQ(engine_->counters().slots_at_deadline, 5u);
}

TEST_F(SlotTimesTest, SlotsReportedAheadOfTheirTimeAreDrainedToo) {
  Start();
  Offer("north", Frame(kEpoch + 3, {1.0f}));
  Offer("north", Frame(kEpoch, {1.0f}));
  engine_->Drain(now_, out_);
  EXPECT_EQ(out_.size(), 2u);
  EXPECT_EQ(engine_->counters().open_slots, 0u);
}

TEST_F(SlotTimesTest, AJumpOfWallTimeNeitherDelaysNorLosesASlot) {
  Start();
  Offer("north", Frame(kEpoch, {1.0f}));
  now_.unix_ns = 0;  // back to 1970
  now_.steady_ns += 5 * kMs;
  engine_->Advance(now_, out_);
  EXPECT_EQ(out_.size(), 1u);
  EXPECT_EQ(ReasonOf(Offer("east", Frame(kEpoch + 1, {1.0f}))), RefusalReason::kEpochFuture);
  now_.unix_ns = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(ReasonOf(Offer("east", Frame(kEpoch + 1, {1.0f}))), RefusalReason::kEpochFuture);
  SetTime(kEpoch + 1, now_.steady_ns);
  EXPECT_TRUE(Offer("east", Frame(kEpoch + 1, {1.0f})).accepted);
}

TEST_F(SlotTimesTest, RefusesEpochsFarInThePastAndFuture) {
  Start();
  EXPECT_TRUE(Offer("north", Frame(kEpoch - 20, {1.0f})).accepted);
  EXPECT_TRUE(Offer("north", Frame(kEpoch + 10, {1.0f})).accepted);
  EXPECT_EQ(ReasonOf(Offer("north", Frame(kEpoch - 21, {1.0f}))), RefusalReason::kEpochPast);
  EXPECT_EQ(ReasonOf(Offer("north", Frame(kEpoch + 11, {1.0f}))), RefusalReason::kEpochFuture);
  EXPECT_EQ(ReasonOf(Offer("north", Frame(0, {1.0f}))), RefusalReason::kEpochPast);
  EXPECT_EQ(ReasonOf(Offer("north", Frame(UINT64_MAX, {1.0f}))), RefusalReason::kEpochFuture);
}

// A quarter of a one-second slot may lie ahead: a clock with a smaller error is accepted.
TEST_F(SlotTimesTest, JudgesEpochsByTimeAlsoWhereSlotsAreLongerThanTheLimits) {
  site_.slot = *estimate::SlotLength::FromMs(1000);
  site_.max_age_ns = 300 * kMs;
  site_.max_lead_ns = 250 * kMs;
  Start();
  now_.unix_ns = site_.slot.StartNs(kEpochOfSeconds) + 299 * kMs;
  EXPECT_TRUE(Offer("north", Frame(kEpochOfSeconds - 1, {1.0f})).accepted) << "ended 299 ms ago";
  now_.unix_ns += kMs;
  EXPECT_EQ(ReasonOf(Offer("east", Frame(kEpochOfSeconds - 1, {1.0f}))), RefusalReason::kEpochPast);
  EXPECT_TRUE(Offer("north", Frame(kEpochOfSeconds, {1.0f})).accepted);
  EXPECT_EQ(ReasonOf(Offer("north", Frame(kEpochOfSeconds + 1, {1.0f}))), RefusalReason::kEpochFuture);
  now_.unix_ns = site_.slot.EndNs(kEpochOfSeconds) - 250 * kMs;
  EXPECT_TRUE(Offer("north", Frame(kEpochOfSeconds + 1, {1.0f})).accepted) << "begins in 250 ms";
  for (const estimate::Epoch hostile : {estimate::Epoch{0}, estimate::Epoch{1} << 40,
                                        estimate::Epoch{1} << 63, estimate::Epoch{UINT64_MAX}}) {
    EXPECT_FALSE(Offer("north", Frame(hostile, {1.0f})).accepted) << hostile;
  }
}

// Two sensors at 100 Hz, the second 7.5 ms after the first; counts the slots that a site's defaults complete.
class PhaseTest : public FusionFixture {
 protected:
  std::uint64_t CompleteSlots(double slot_ms, int samples) {
    site_.leaves = {"north", "east"};
    site_.slot = *estimate::SlotLength::FromMs(slot_ms);
    site_.max_age_ns = 2000 * kMs;
    site_.max_lead_ns = 250 * kMs;
    site_.window_slots = DefaultWindowSlots(site_);
    site_.tuning.deadline_ns = estimate::DefaultDeadlineNs(site_.slot);
    Start();
    for (int i = 0; i < samples; ++i) {
      Sample("north", i * 10 * kMs + 2 * kMs);
      Sample("east", i * 10 * kMs + 9'500'000);
    }
    const FusionCounters counters = engine_->counters();
    EXPECT_EQ(counters.frames_accepted, 2u * static_cast<unsigned>(samples));
    return counters.slots_complete;
  }
  void Sample(const std::string& source, std::int64_t after_ns) {
    now_ = {after_ns, kStartNs + after_ns};
    engine_->Advance(now_, out_);
    Offer(source, Frame(site_.slot.EpochAt(now_.unix_ns), {1.0f}));
  }
  static constexpr std::int64_t kStartNs = 1'700'000'000'000'000'000;
};

TEST_F(PhaseTest, SensorsOutOfPhaseNeverMeetInSlotsThatAreTooShort) { EXPECT_EQ(CompleteSlots(0.5, 50), 0u); }

TEST_F(PhaseTest, SensorsOutOfPhaseMeetInEverySlotAsLongAsTheirPeriod) {
  EXPECT_EQ(CompleteSlots(10, 50), 50u);
}

}  // namespace
}  // namespace tributary::fusion
