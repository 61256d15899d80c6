#include "aggregator/fusion/engine.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "aggregator/fusion/fusion_fixture.h"

namespace tributary::fusion {
namespace {

class FusionEngineTest : public FusionFixture {};

TEST_F(FusionEngineTest, FusesASlotAsSoonAsEveryLeafHasReported) {
  Start();
  Offer("north", Frame(kEpoch, {1.0f, 5.0f}));
  Offer("east", Frame(kEpoch, {1.2f, 5.0f}));
  Offer("south", Frame(kEpoch, {0.8f, 5.0f}));
  EXPECT_TRUE(out_.empty());
  Offer("west", Frame(kEpoch, {1.0f, 5.0f}));
  ASSERT_EQ(out_.size(), 1u);
  const estimate::FusedSlot& slot = out_[0];
  EXPECT_EQ(slot.epoch, kEpoch);
  EXPECT_EQ(slot.revision, 0u);
  EXPECT_EQ(slot.subjects, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_FLOAT_EQ(slot.means[0], 1.0f);
  EXPECT_FLOAT_EQ(slot.means[2], 5.0f);
  EXPECT_FLOAT_EQ(slot.cholesky[0], 0.05f);  // 0.1 / √4
  EXPECT_EQ(slot.contributors, (std::vector<std::uint64_t>{0b1111, 0b1111}));
  // Offsets of 0, 2, -2 and 0 deviations: 8 of the 2·3 expected.
  EXPECT_NEAR(slot.consistency[0], 8.0 / 6, 1e-5);
  EXPECT_FLOAT_EQ(slot.consistency[1], 0.0f);
  EXPECT_EQ(engine_->counters().slots_complete, 1u);
  EXPECT_EQ(engine_->counters().tuples_accepted, 8u);
  EXPECT_EQ(engine_->counters().tuples_fused, 2u);
}

TEST_F(FusionEngineTest, KeepsSlotsApartThatArriveInterleaved) {
  Start();
  for (const std::string source : {"north", "east", "south", "west"}) {
    for (estimate::Epoch epoch = kEpoch + 3; epoch-- > kEpoch;) {
      Offer(source, Frame(epoch, {static_cast<float>(epoch - kEpoch)}));
    }
  }
  ASSERT_EQ(out_.size(), 3u);
  for (const estimate::FusedSlot& slot : out_.slots())
    EXPECT_FLOAT_EQ(slot.means[0], static_cast<float>(slot.epoch - kEpoch));
}

TEST_F(FusionEngineTest, FusesSubjectsThatOnlySomePanelsHear) {
  Start();
  estimate::TupleFrame few = Frame(kEpoch, {4.0f});
  few.subjects = {9};
  Offer("north", Frame(kEpoch, {1.0f, 2.0f}));
  Offer("east", few);
  Offer("south", Frame(kEpoch, {}));
  Offer("west", Frame(kEpoch, {3.0f}));
  ASSERT_EQ(out_.size(), 1u);
  const estimate::FusedSlot& slot = out_[0];
  EXPECT_EQ(slot.subjects, (std::vector<std::uint32_t>{1, 2, 9}));
  EXPECT_FLOAT_EQ(slot.means[0], 2.0f);
  EXPECT_FLOAT_EQ(slot.means[2], 2.0f);
  EXPECT_FLOAT_EQ(slot.means[4], 4.0f);
  EXPECT_FLOAT_EQ(slot.cholesky[6], 0.1f);
  EXPECT_EQ(slot.contributors, (std::vector<std::uint64_t>{0b1001, 0b0001, 0b0010}));
  EXPECT_GT(slot.consistency[0], 0);
  EXPECT_EQ(slot.consistency[1], 0);
}

TEST_F(FusionEngineTest, RefusesASecondFrameOfTheSamePanelAndSlot) {
  Start();
  EXPECT_TRUE(Offer("north", Frame(kEpoch, {1.0f})).accepted);
  EXPECT_EQ(ReasonOf(Offer("north", Frame(kEpoch, {2.0f}))), RefusalReason::kDuplicate);
  now_.steady_ns = 10 * kMs;
  engine_->Advance(now_, out_);
  EXPECT_EQ(ReasonOf(Offer("north", Frame(kEpoch, {2.0f}))), RefusalReason::kDuplicate)
      << "fused, still known";
  EXPECT_FLOAT_EQ(out_[0].means[0], 1.0f);
}

TEST_F(FusionEngineTest, AHigherRevisionReplacesAFrameThatWaits) {
  Start();
  estimate::TupleFrame revised = Frame(kEpoch, {3.0f});
  revised.revision = 1;
  Offer("north", Frame(kEpoch, {1.0f}));
  EXPECT_TRUE(Offer("north", revised).accepted);
  EXPECT_FALSE(Offer("north", revised).accepted);
  engine_->Drain(now_, out_);
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_FLOAT_EQ(out_[0].means[0], 3.0f);
  EXPECT_FLOAT_EQ(out_[0].cholesky[0], 0.1f);
  EXPECT_EQ(engine_->counters().frames_replaced, 1u);
  EXPECT_EQ(engine_->counters().slots_drained, 1u);
}

TEST_F(FusionEngineTest, FusesTheOldestOfManyOverdueSlotsAndTheOthersWhenCalledAgain) {
  Start();
  constexpr std::size_t kOverdue = kMostFusedAtOnce + 4;
  for (estimate::Epoch epoch = kEpoch - kOverdue; epoch < kEpoch; ++epoch)
    Offer("north", Frame(epoch, {1.0f}));
  now_.steady_ns = 10 * kMs;
  engine_->Advance(now_, out_);
  EXPECT_EQ(out_.size(), kMostFusedAtOnce);
  EXPECT_EQ(out_[0].epoch, kEpoch - kOverdue);
  EXPECT_LE(engine_->NextDeadline(), now_.steady_ns);
  engine_->Advance(now_, out_);
  EXPECT_EQ(out_.size(), kOverdue);
  EXPECT_EQ(engine_->NextDeadline(), FusionEngine::kNoDeadline);
}

TEST_F(FusionEngineTest, CountsALateFrame) {
  Start();
  Offer("north", Frame(kEpoch, {1.0f}));
  now_.steady_ns = 10 * kMs;
  engine_->Advance(now_, out_);
  EXPECT_EQ(ReasonOf(Offer("east", Frame(kEpoch, {1.0f}))), RefusalReason::kLate);
  EXPECT_EQ(Refused(RefusalReason::kLate), 1u);
  EXPECT_EQ(out_.size(), 1u);
}

TEST_F(FusionEngineTest, AClockThatIsAheadShowsAlsoWhereEveryFrameIsRefused) {
  Start();
  const auto north_age_ns = [this] { return engine_->sources()[handles_.at("north")].frame_age_ns; };
  now_.unix_ns += 2 * kMs;
  Offer("north", Frame(kEpoch, {1.0f}));
  EXPECT_EQ(north_age_ns(), 2 * kMs);
  now_.unix_ns -= 60'000 * kMs;
  EXPECT_EQ(ReasonOf(Offer("north", Frame(kEpoch, {1.0f}))), RefusalReason::kEpochFuture);
  EXPECT_EQ(north_age_ns(), 2 * kMs - 60'000 * kMs);
}

TEST_F(FusionEngineTest, RevisesASlotByALateFrameIfToldTo) {
  site_.tuning.late = LatePolicy::kRevise;
  Start();
  Offer("north", Frame(kEpoch, {1.0f}));
  now_.steady_ns = 10 * kMs;
  engine_->Advance(now_, out_);
  EXPECT_TRUE(Offer("east", Frame(kEpoch, {3.0f})).accepted);
  estimate::TupleFrame corrected = Frame(kEpoch, {5.0f});
  corrected.revision = 1;
  EXPECT_TRUE(Offer("north", corrected).accepted);
  ASSERT_EQ(out_.size(), 3u);
  EXPECT_EQ(out_[1].revision, 1u);
  EXPECT_FLOAT_EQ(out_[1].means[0], 2.0f);
  EXPECT_EQ(out_[2].revision, 2u);
  EXPECT_FLOAT_EQ(out_[2].means[0], 4.0f) << "the first 1.0 is withdrawn";
  EXPECT_EQ(engine_->counters().revisions, 2u);
  EXPECT_EQ(engine_->counters().tuples_fused, 1u) << "revisions are no further results";
}

TEST_F(FusionEngineTest, NeverMixesWhatTheWindowPushesOut) {
  site_.window_slots = 4;
  site_.max_age_ns.reset();
  site_.max_lead_ns.reset();
  Start();
  for (estimate::Epoch epoch = kEpoch; epoch < kEpoch + 6; ++epoch) {
    Offer("north", Frame(epoch, {static_cast<float>(epoch - kEpoch)}));
  }
  ASSERT_EQ(out_.size(), 2u);
  EXPECT_EQ(out_[0].epoch, kEpoch);
  EXPECT_FLOAT_EQ(out_[1].means[0], 1.0f);
  EXPECT_EQ(engine_->counters().slots_evicted, 2u);
  EXPECT_EQ(ReasonOf(Offer("east", Frame(kEpoch, {1.0f}))), RefusalReason::kLate) << "left the window";
  EXPECT_EQ(engine_->counters().open_slots, 4u);
}

TEST_F(FusionEngineTest, GoesOnWithThreePanelsAtTheDeadlineAndWithoutOneOnceItIsAbsent) {
  site_.tuning.absent_after_slots = 3;
  Start();
  for (estimate::Epoch epoch = kEpoch; epoch < kEpoch + 5; ++epoch) {
    for (const std::string source : {"north", "east", "south"}) Offer(source, Frame(epoch, {1.0f}));
    now_.steady_ns += 10 * kMs;
    engine_->Advance(now_, out_);
  }
  EXPECT_EQ(out_.size(), 5u);
  EXPECT_EQ(engine_->counters().slots_at_deadline, 3u);
  EXPECT_EQ(engine_->counters().slots_complete, 2u);
  EXPECT_TRUE(engine_->leaves()[3].absent);
  // It reports again: too late for the slot that did not wait, in time for the next one.
  Offer("west", Frame(kEpoch + 4, {1.0f}));
  EXPECT_FALSE(engine_->leaves()[3].absent);
  for (const std::string source : {"north", "east", "south"}) Offer(source, Frame(kEpoch + 5, {1.0f}));
  EXPECT_EQ(out_.size(), 5u);
  Offer("west", Frame(kEpoch + 5, {1.0f}));
  EXPECT_EQ(out_.size(), 6u);
}

TEST_F(FusionEngineTest, RefusesFramesOfTheWrongShapeAndSaysWhichFieldAndWhy) {
  site_.max_subjects = 3;
  Start();
  const auto reason = [&](auto change) {
    estimate::TupleFrame frame = Frame(kEpoch, {1.0f, 2.0f});
    change(frame);
    const OfferResult result = Offer("north", frame);
    EXPECT_FALSE(result.accepted);
    EXPECT_FALSE(result.refusals[0].message.empty());
    return ReasonOf(result);
  };
  EXPECT_EQ(reason([](estimate::TupleFrame& f) { f.dimension = 3; }), RefusalReason::kShape);
  EXPECT_EQ(reason([](estimate::TupleFrame& f) { f.means.pop_back(); }), RefusalReason::kShape);
  EXPECT_EQ(reason([](estimate::TupleFrame& f) { f.cholesky.push_back(1); }), RefusalReason::kShape);
  EXPECT_EQ(reason([](estimate::TupleFrame& f) { f.contributors = {1}; }), RefusalReason::kShape);
  EXPECT_EQ(reason([](estimate::TupleFrame& f) { f.contributors = {1, 0}; }), RefusalReason::kShape);
  EXPECT_EQ(reason([](estimate::TupleFrame& f) { f.contributors = {1, 2}; }), RefusalReason::kShape);
  EXPECT_EQ(reason([](estimate::TupleFrame& f) { f.subjects[1] = f.subjects[0]; }),
            RefusalReason::kDuplicateSubject);
  EXPECT_EQ(reason([&](estimate::TupleFrame& f) {
              f = Frame(kEpoch, {1, 2, 3, 4});
            }),
            RefusalReason::kTooLarge);
  EXPECT_EQ(ReasonOf(engine_->Offer(77, Frame(kEpoch, {1.0f}), now_, out_)), RefusalReason::kUnknownSource);
  EXPECT_NE(Offer("north", Frame(kEpoch, {1, 2, 3, 4})).refusals[0].message.find("subjects has 4"),
            std::string::npos);
}

TEST_F(FusionEngineTest, TakesTheSoundTuplesOfAFrameAndRefusesTheOthers) {
  Start();
  estimate::TupleFrame frame = Frame(kEpoch, {1.0f, 2.0f, 3.0f, 4.0f});
  frame.means[1] = std::nanf("");
  frame.cholesky[6 + 2] = 0.0f;
  frame.cholesky[9 + 1] = std::numeric_limits<float>::infinity();
  const OfferResult result = Offer("north", frame);
  EXPECT_TRUE(result.accepted);
  ASSERT_EQ(result.refusals.size(), 2u);
  EXPECT_EQ(result.refusals[0].reason, RefusalReason::kNotFinite);
  EXPECT_EQ(result.refusals[0].subjects, (std::vector<std::uint32_t>{1, 4}));
  EXPECT_EQ(result.refusals[1].reason, RefusalReason::kNotPositive);
  EXPECT_EQ(result.refusals[1].subjects, (std::vector<std::uint32_t>{3}));
  engine_->Drain(now_, out_);
  EXPECT_EQ(out_[0].subjects, (std::vector<std::uint32_t>{2}));
  EXPECT_FLOAT_EQ(out_[0].means[0], 2.0f);
  EXPECT_EQ(engine_->counters().tuples_refused[static_cast<std::size_t>(RefusalReason::kNotFinite)], 2u);
}

TEST_F(FusionEngineTest, AFrameWithoutASoundTupleLeavesTheSlotToBeReported) {
  Start();
  estimate::TupleFrame frame = Frame(kEpoch, {1.0f});
  frame.cholesky[0] = -1.0f;
  EXPECT_FALSE(Offer("north", frame).accepted);
  EXPECT_TRUE(Offer("north", Frame(kEpoch, {1.0f})).accepted);
}

TEST_F(FusionEngineTest, JoinRefusesWhatTheSiteDoesNotKnow) {
  StartEmpty();
  const auto code = [&](const SourceDeclaration& declaration) {
    return engine_->Join(declaration).status().code();
  };
  EXPECT_EQ(code({"", 2, {"north"}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({"a", 3, {"north"}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({"a", 2, {}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({"a", 2, {"attic"}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({"a", 2, {"north", "north"}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*engine_->Join({"a", 2, {"north"}}), *engine_->Join({"a", 2, {"north", "east"}}))
      << "joined again";
  for (std::size_t i = 1; i < FusionEngine::kMaxSources - site_.leaves.size(); ++i) {
    EXPECT_TRUE(engine_->Join({absl::StrCat("s", i), 2, {"north"}}).ok());
  }
  EXPECT_EQ(code({"one more", 2, {"north"}}), absl::StatusCode::kResourceExhausted);
}

TEST_F(FusionEngineTest, ConfigurationNamesEveryFault) {
  site_.dimension = 4;
  site_.leaves = {"north", "north"};
  site_.window_slots = 8;
  site_.tuning.gate_probability = 1.5;
  site_.tuning.deadline_ns = 0;
  const std::string message(FusionEngine::Create(site_).status().message());
  for (const char* part : {"dimension: must be from 1 to 3, found 4", "\"north\" is named twice",
                           "window of 8", "gate_probability: ", "deadline_ms: "}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
}

TEST_F(FusionEngineTest, AFaultyReconfigurationChangesNothing) {
  Start();
  FusionTuning tuning = site_.tuning;
  tuning.deadline_ns = 7 * kMs;
  tuning.gate_probability = 1.5;
  EXPECT_FALSE(engine_->Reconfigure(tuning).ok());
  Offer("north", Frame(kEpoch, {1.0f}));
  EXPECT_EQ(engine_->NextDeadline(), 5 * kMs);
  tuning.gate_probability = 0.9;
  EXPECT_TRUE(engine_->Reconfigure(tuning).ok());
  EXPECT_EQ(engine_->NextDeadline(), 7 * kMs);
}

TEST_F(FusionEngineTest, WorksInOneAndThreeDimensions) {
  for (const std::uint32_t dimension : {1u, 3u}) {
    site_.dimension = dimension;
    out_.Clear();
    Start();
    OfferAll(Frame(kEpoch, {2.0f, 3.0f}));
    ASSERT_EQ(out_.size(), 1u);
    EXPECT_EQ(out_[0].means.size(), 2 * dimension);
    EXPECT_FLOAT_EQ(out_[0].means[dimension], 3.0f);
    EXPECT_FLOAT_EQ(out_[0].cholesky[0], 0.05f);
  }
}

TEST_F(FusionEngineTest, PutsOutNoResultBeyondTheRangeOfSinglePrecision) {
  Start();
  estimate::TupleFrame frame = Frame(kEpoch, {1.0f, 2.0f});
  frame.cholesky[0] = frame.cholesky[2] = std::numeric_limits<float>::denorm_min();
  OfferAll(frame);
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_EQ(out_[0].subjects, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(engine_->counters().tuples_unusable, 1u);
}

}  // namespace
}  // namespace tributary::fusion
