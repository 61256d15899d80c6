#include "aggregator/learning/round/run_state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "aggregator/learning/round/run_fixture.h"

namespace tributary::learning {
namespace {

using Verdict = AdmissionVerdict;

class RunStateTest : public RunFixture {
 protected:
  // Who was asked last, with all that was said of them.
  std::string Asked() const { return Last<RoundStarted>().started.SerializeAsString(); }
};

TEST_F(RunStateTest, StartsWhenEnoughNodesHaveJoined) {
  Join("ash");
  Join("birch");
  EXPECT_EQ(run_->phase(), RunPhase::kWaiting);
  EXPECT_EQ(run_->TaskOf("ash").reason, "2 of 3 required nodes connected");
  Join("cedar");
  ASSERT_EQ(Count<RoundStarted>(), 1u);
  EXPECT_EQ(Last<RoundStarted>().started.asked_size(), 3);
  EXPECT_EQ(run_->TaskOf("ash"), (NodeTask{TaskKind::kTrain, 1, kDeadline, ""}));
}

TEST_F(RunStateTest, ClosesWhenEveryoneHasAnswered) {
  JoinThree();
  Submit("ash");
  Submit("birch");
  EXPECT_EQ(Count<RoundClosed>(), 0u);
  EXPECT_EQ(run_->TaskOf("ash").kind, TaskKind::kWait);
  Submit("cedar");
  ASSERT_EQ(Count<RoundClosed>(), 1u);
  EXPECT_EQ(Last<RoundClosed>().total_weight, 300);
  EXPECT_TRUE(Last<RoundClosed>().dropped.empty());
  Commit();
  EXPECT_EQ(run_->round(), 2u);
  EXPECT_EQ(run_->TaskOf("ash").round, 2u);
}

TEST_F(RunStateTest, ADeadNodeHoldsNoRoundBeyondItsDeadline) {
  JoinThree();
  Submit("ash");
  Submit("birch");
  EXPECT_EQ(Advance(kDeadline - 1), kDeadline);
  EXPECT_EQ(Count<RoundClosed>(), 0u);
  Advance(kDeadline);
  ASSERT_EQ(Count<RoundClosed>(), 1u);
  EXPECT_EQ(Last<RoundClosed>().dropped, std::vector<std::string>{"cedar"});
  EXPECT_EQ(Status("cedar").dropped_rounds(), 1u);
}

TEST_F(RunStateTest, ARoundWithoutQuorumChangesNothing) {
  JoinThree();
  Submit("ash");
  Advance(kDeadline);
  ASSERT_EQ(Count<RoundFailed>(), 1u);
  EXPECT_EQ(Last<RoundFailed>().failure(), "1 of 3 nodes answered, 2 are needed");
  EXPECT_EQ(run_->round(), 2u);
  EXPECT_EQ(run_->committed(), 0u);
  EXPECT_EQ(Accepted(), 0u);
  EXPECT_EQ(Offer("birch", 1).reason, v1::SUBMIT_REFUSAL_STALE);
}

TEST_F(RunStateTest, ASecondSubmissionIsAnsweredLikeTheFirstAndChangesNothing) {
  JoinThree();
  Submit("ash");
  EXPECT_EQ(Offer("ash", 1).verdict, Verdict::kAlreadyAccepted);
  EXPECT_EQ(Accepted(), 1u);
  Submit("birch");
  Submit("cedar");
  Commit();
  EXPECT_EQ(Offer("ash", 1).verdict, Verdict::kAlreadyAccepted);  // also after the round
  EXPECT_EQ(Count<UpdateAccepted>(), 3u);
}

TEST_F(RunStateTest, RefusesWhatBelongsToAnotherRound) {
  JoinThree();
  EXPECT_EQ(Offer("ash", 2).reason, v1::SUBMIT_REFUSAL_FUTURE_ROUND);
  Submit("ash");
  Submit("birch");
  Advance(kDeadline);
  EXPECT_EQ(Offer("cedar", 1).reason, v1::SUBMIT_REFUSAL_STALE);
  Commit();
  EXPECT_EQ(Offer("cedar", 1).reason, v1::SUBMIT_REFUSAL_STALE);
  EXPECT_EQ(Offer("cedar", 0).reason, v1::SUBMIT_REFUSAL_STALE);
  EXPECT_EQ(Status("cedar").refused_updates(), 3u);
}

TEST_F(RunStateTest, RefusesAnUpdateAfterTheDeadlineThatNobodyHasNoticedYet) {
  JoinThree();
  now_ns_ = kDeadline + 1;
  EXPECT_EQ(Offer("ash", 1).reason, v1::SUBMIT_REFUSAL_LATE);
}

TEST_F(RunStateTest, RefusesANodeThatDidNotJoinOrWasNotAsked) {
  JoinThree();
  EXPECT_EQ(Offer("mallory", 1).reason, v1::SUBMIT_REFUSAL_NOT_JOINED);
  Join("fir");
  EXPECT_EQ(run_->TaskOf("fir").reason, "round 1 is under way");
  EXPECT_EQ(Offer("fir", 1).reason, v1::SUBMIT_REFUSAL_NOT_ASKED);
}

TEST_F(RunStateTest, RefusesHeadersThatDoNotFitTheModel) {
  JoinThree();
  v1::UpdateHeader header = Header("ash", 1);
  header.set_schema_sha256(parameters::BytesOf(Identity(99)));
  EXPECT_EQ(Offer(header).reason, v1::SUBMIT_REFUSAL_SCHEMA);
  header = Header("ash", 1);
  header.set_element_count(header.element_count() * 10);
  EXPECT_EQ(Offer(header).reason, v1::SUBMIT_REFUSAL_SCHEMA);
  header = Header("ash", 1);
  header.set_base_model_sha256(parameters::BytesOf(Identity(98)));
  EXPECT_EQ(Offer(header).reason, v1::SUBMIT_REFUSAL_BASE_MODEL);
  header = Header("ash", 1);
  header.set_encoding(v1::UPDATE_ENCODING_FIXED32);
  EXPECT_EQ(Offer(header).reason, v1::SUBMIT_REFUSAL_ENCODING);
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{101}, UINT64_MAX}) {
    header = Header("ash", 1);
    header.set_sample_count(count);
    EXPECT_EQ(Offer(header).reason, v1::SUBMIT_REFUSAL_SAMPLE_COUNT) << count;
  }
  EXPECT_EQ(Offer("ash", 1).verdict, Verdict::kGo);
}

TEST_F(RunStateTest, OneSubmissionOfANodeAtATime) {
  JoinThree();
  const v1::UpdateHeader header = Header("ash", 1);
  EXPECT_EQ(run_->Admit(header, now_ns_).verdict, Verdict::kGo);
  const Admission second = run_->Admit(header, now_ns_);
  EXPECT_EQ(second.reason, v1::SUBMIT_REFUSAL_DUPLICATE);
  EXPECT_TRUE(second.try_again);
  run_->Withdraw(header);
  EXPECT_EQ(run_->Admit(header, now_ns_).verdict, Verdict::kGo);
  run_->Withdraw(header, v1::SUBMIT_REFUSAL_NOT_FINITE);
  EXPECT_EQ(Status("ash").last_refusal(), "not_finite: round 1");
  Submit("ash");
  EXPECT_EQ(Accepted(), 1u);
}

TEST_F(RunStateTest, AnUploadThatOutlivesItsRoundLeavesTheNextOneAlone) {
  JoinThree();
  for (const bool complete : {true, false}) {
    SCOPED_TRACE(complete);
    ASSERT_EQ(run_->Admit(Header("ash", run_->round()), now_ns_).verdict, Verdict::kGo);
    const v1::UpdateHeader late = Header("ash", run_->round());
    Advance(now_ns_ + kDeadline);
    ASSERT_EQ(run_->Admit(Header("ash", run_->round()), now_ns_).verdict, Verdict::kGo);
    if (complete) {
      EXPECT_EQ(Accept(late).reason, v1::SUBMIT_REFUSAL_STALE);
    } else {
      run_->Withdraw(late);
    }
    EXPECT_EQ(Accept(Header("ash", run_->round())).verdict, Verdict::kGo);
    Advance(now_ns_ + kDeadline);
  }
}

TEST_F(RunStateTest, ANodeWhoseUpdateCanNeverBeTakenHoldsNobodyUp) {
  JoinThree();
  const v1::UpdateHeader header = Header("cedar", 1);
  ASSERT_EQ(run_->Admit(header, now_ns_).verdict, Verdict::kGo);
  Submit("ash");
  Submit("birch");
  EXPECT_EQ(Count<RoundClosed>(), 0u);
  run_->Withdraw(header, v1::SUBMIT_REFUSAL_OUT_OF_RANGE);
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kWait);
  Advance(1);
  ASSERT_EQ(Count<RoundClosed>(), 1u);
  EXPECT_EQ(Last<RoundClosed>().dropped, std::vector<std::string>{"cedar"});
  Commit();
  EXPECT_EQ(run_->TaskOf("cedar").round, 2u);
}

TEST_F(RunStateTest, ANodeThatMendsItsUpdateIsTaken) {
  JoinThree();
  v1::UpdateHeader header = Header("ash", 1);
  header.set_schema_sha256(parameters::BytesOf(Identity(99)));
  EXPECT_EQ(Offer(header).reason, v1::SUBMIT_REFUSAL_SCHEMA);
  Submit("birch");
  Submit("ash");
  Advance(1);
  EXPECT_EQ(Count<RoundClosed>(), 0u);  // cedar is still to come
  Submit("cedar");
  EXPECT_EQ(Last<RoundClosed>().total_weight, 300);
}

// What breaks on its way, or belongs to another round, says nothing of this round's update.
TEST_F(RunStateTest, WaitsForANodeWhoseUpdateWasDamagedOnItsWay) {
  JoinThree();
  const v1::UpdateHeader header = Header("cedar", 1);
  ASSERT_EQ(run_->Admit(header, now_ns_).verdict, Verdict::kGo);
  run_->Withdraw(header, v1::SUBMIT_REFUSAL_INCOMPLETE);
  EXPECT_EQ(Offer("cedar", 7).reason, v1::SUBMIT_REFUSAL_FUTURE_ROUND);
  Submit("ash");
  Submit("birch");
  Advance(1);
  EXPECT_EQ(Count<RoundClosed>(), 0u);
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kTrain);
}

TEST_F(RunStateTest, AnUpdateThatIsNotCompleteBeforeTheRoundEndsIsRefused) {
  JoinThree();
  const v1::UpdateHeader header = Header("cedar", 1);
  ASSERT_EQ(run_->Admit(header, now_ns_).verdict, Verdict::kGo);
  Submit("ash");
  Submit("birch");
  Advance(kDeadline);
  Commit();
  EXPECT_EQ(Accept(header).reason, v1::SUBMIT_REFUSAL_STALE);
}

TEST_F(RunStateTest, ANodeThatRestartsKeepsItsPlace) {
  JoinThree();
  Join("ash", "second boot");
  Leave("ash", "first boot");  // of the older stream: without effect
  EXPECT_TRUE(Status("ash").connected());
  EXPECT_EQ(run_->TaskOf("ash").kind, TaskKind::kTrain);
  Leave("ash", "second boot");
  EXPECT_FALSE(Status("ash").connected());
  Join("ash", "third boot");
  Submit("ash");
  EXPECT_EQ(run_->roster().joined(), 3u);
}

TEST_F(RunStateTest, PauseLetsTheRoundEndAndStartsNoOther) {
  JoinThree();
  for (const bool first : {true, false}) {
    const absl::StatusOr<RunOutcome> paused = run_->SetPaused(true, now_ns_);
    ASSERT_TRUE(paused.ok());
    EXPECT_EQ(paused->state_changed, first);
  }
  for (const char* node : {"ash", "birch", "cedar"}) Submit(node);
  Commit();
  EXPECT_EQ(run_->phase(), RunPhase::kPaused);
  EXPECT_EQ(run_->TaskOf("ash").reason, "paused");
  EXPECT_EQ(Advance(kDeadline), kNoDeadline);
  ASSERT_TRUE(Take(run_->SetPaused(false, now_ns_)).ok());
  EXPECT_EQ(run_->round(), 2u);
}

TEST_F(RunStateTest, StopEndsTheRoundUnderWay) {
  JoinThree();
  Submit("ash");
  ASSERT_TRUE(Take(run_->Stop()).ok());
  EXPECT_EQ(Count<RoundFailed>(), 1u);
  EXPECT_EQ(run_->phase(), RunPhase::kStopped);
  EXPECT_EQ(run_->TaskOf("ash").kind, TaskKind::kEnded);
  EXPECT_EQ(Offer("birch", 1).reason, v1::SUBMIT_REFUSAL_NOT_RUNNING);
  EXPECT_TRUE(run_->Stop()->empty());
  EXPECT_FALSE(run_->SetPaused(false, now_ns_).ok());
}

TEST_F(RunStateTest, FinishesAfterItsRounds) {
  JoinThree();
  for (std::uint32_t round = 0; round < config_.rounds; ++round) {
    for (const char* node : {"ash", "birch", "cedar"}) Submit(node);
    Commit();
  }
  EXPECT_EQ(run_->phase(), RunPhase::kFinished);
  EXPECT_EQ(run_->TaskOf("ash").kind, TaskKind::kEnded);
  EXPECT_FALSE(run_->SetPaused(true, now_ns_).ok());
}

TEST_F(RunStateTest, ARollbackGivesTheRoundUp) {
  JoinThree();
  Submit("ash");
  Take(run_->ReplaceModel(Identity(77), now_ns_));
  EXPECT_EQ(Count<RoundFailed>(), 1u);
  EXPECT_EQ(run_->round(), 2u);
  EXPECT_EQ(Header("birch", 2).base_model_sha256(), parameters::BytesOf(Identity(77)));
  Submit("birch");
}

TEST_F(RunStateTest, GoesOnAfterARestart) {
  JoinThree();
  Submit("ash");
  const parameters::FixedPoint fixed_point = FixedPointOf(run_->under_way()->started());
  Restart();
  EXPECT_EQ(run_->round(), 1u);
  EXPECT_EQ(Accepted(), 1u);
  EXPECT_EQ(FixedPointOf(run_->under_way()->started()), fixed_point);
  EXPECT_EQ(Offer("ash", 1).verdict, Verdict::kAlreadyAccepted);
  Join("birch");
  EXPECT_EQ(run_->TaskOf("birch").kind, TaskKind::kTrain);
  Submit("birch");
  Submit("cedar");
  EXPECT_EQ(Count<RoundClosed>(), 1u);
}

TEST_F(RunStateTest, AClosedRoundIsClosedAgainAfterARestart) {
  JoinThree();
  for (const char* node : {"ash", "birch", "cedar"}) Submit(node);
  Restart();
  EXPECT_EQ(Count<RoundClosed>(), 1u);
  EXPECT_EQ(Last<RoundClosed>().total_weight, 300);
  Commit();
  EXPECT_EQ(run_->committed(), 1u);
}

TEST_F(RunStateTest, ARoundThatIsClosedAgainDropsNobodyTwice) {
  JoinThree();
  Submit("ash");
  Submit("birch");
  Advance(kDeadline);
  Restart();
  EXPECT_EQ(Last<RoundClosed>().dropped, std::vector<std::string>{"cedar"});
  EXPECT_EQ(Status("cedar").dropped_rounds(), 0u) << "counts are since the start";
}

TEST_F(RunStateTest, RefusesASnapshotThatContradictsItself) {
  JoinThree();
  Submit("ash");
  const auto restore = [this](const v1::StoredRun& snapshot) {
    return RunState::Restore(config_, model_, snapshot, stored_).status().code();
  };
  v1::StoredRun snapshot = run_->Snapshot();
  EXPECT_EQ(restore(snapshot), absl::StatusCode::kOk);
  snapshot.add_earlier_models("short");
  EXPECT_EQ(restore(snapshot), absl::StatusCode::kDataLoss);
  snapshot = run_->Snapshot();
  for (const std::uint32_t step : {9u, 256u}) {
    snapshot.mutable_open()->set_step(step);
    EXPECT_EQ(restore(snapshot), absl::StatusCode::kDataLoss);
  }
  stored_.push_back(stored_.front());
  EXPECT_EQ(restore(run_->Snapshot()), absl::StatusCode::kDataLoss);
}

TEST_F(RunStateTest, RefusesASnapshotWithNumbersThatTheArithmeticCannotTake) {
  JoinThree();
  Submit("ash");
  const v1::StoredRun good = run_->Snapshot();
  const std::vector<v1::StoredUpdate> updates = stored_;
  const auto restore = [&](auto damage) {
    v1::StoredRun run = good;
    std::vector<v1::StoredUpdate> accepted = updates;
    damage(run, *run.mutable_open(), accepted.front());
    return RunState::Restore(config_, model_, run, accepted).status().code();
  };
  const double nan = std::nan("");
  using Run = v1::StoredRun;
  using Open = v1::StoredRound;
  using Update = v1::StoredUpdate;
  EXPECT_EQ(restore([](Run&, Open&, Update&) {}), absl::StatusCode::kOk);
  const std::vector<std::function<void(Run&, Open&, Update&)>> damages = {
      [](Run& run, Open&, Update&) { run.set_committed(5000); },
      [](Run& run, Open&, Update&) { run.set_committed(run.round() + 1); },
      [](Run&, Open& open, Update&) { open.set_fraction_bits(INT32_MIN); },
      [](Run&, Open& open, Update&) { open.set_fraction_bits(500); },
      [=](Run&, Open& open, Update&) { open.set_bound(static_cast<float>(nan)); },
      [](Run&, Open& open, Update&) { open.set_bound(0); },
      [=](Run&, Open& open, Update&) { open.mutable_asked(1)->set_weight(nan); },
      [](Run&, Open& open, Update&) { open.mutable_asked(0)->set_weight(-1); },
      [=](Run&, Open&, Update& update) { update.set_weight(nan); },
      [](Run&, Open&, Update& update) { update.set_weight(INFINITY); },
      [=](Run&, Open&, Update& update) { update.set_norm(nan); }};
  for (std::size_t i = 0; i < damages.size(); ++i) {
    EXPECT_EQ(restore(damages[i]), absl::StatusCode::kDataLoss) << i;
  }
}

TEST_F(RunStateTest, RefusesNodesThatTheRunCannotUse) {
  v1::ParticipateRequest node = Declaration("ash");
  node.set_schema_sha256(parameters::BytesOf(Identity(50)));
  EXPECT_EQ(Join(node).code(), absl::StatusCode::kFailedPrecondition);
  node = Declaration("ash");
  node.add_workloads("positioning");
  EXPECT_EQ(Join(node).code(), absl::StatusCode::kFailedPrecondition);
  node = Declaration("ash");
  node.add_encodings(v1::UPDATE_ENCODING_INT8);
  EXPECT_EQ(Join(node).code(), absl::StatusCode::kFailedPrecondition);
  node = Declaration("");
  EXPECT_EQ(Join(node).code(), absl::StatusCode::kInvalidArgument);
  node = Declaration("ash");
  node.set_sample_count(UINT64_MAX);
  EXPECT_EQ(Join(node).code(), absl::StatusCode::kInvalidArgument);
  for (std::uint32_t i = 0; i < config_.max_nodes; ++i) Join("node" + std::to_string(i));
  EXPECT_EQ(Join(Declaration("one more")).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(RunStateTest, ANodeThatDoesNotKnowItsSamplesIsNotAsked) {
  JoinThree();
  v1::ParticipateRequest node = Declaration("fir");
  node.set_sample_count(0);
  ASSERT_TRUE(Join(node).ok());
  EXPECT_EQ(run_->TaskOf("fir").reason, "the node has not said how many samples it has");
}

TEST_F(RunStateTest, AsksAShareOfTheNodesRepeatably) {
  config_.sample_fraction = 0.5;
  config_.max_nodes = 64;
  config_.min_nodes = 64;
  Create();
  for (int i = 0; i < 64; ++i) Join("node" + std::to_string(i));
  const std::string asked = Asked();
  // Binomial(64, 1/2): within five standard deviations.
  EXPECT_NEAR(Last<RoundStarted>().started.asked_size(), 32, 20);
  Create();
  for (int i = 64; i-- > 0;) Join("node" + std::to_string(i));
  EXPECT_EQ(Asked(), asked);
  Create(5);
  for (int i = 0; i < 64; ++i) Join("node" + std::to_string(i));
  EXPECT_NE(Asked(), asked);
}

}  // namespace
}  // namespace tributary::learning
