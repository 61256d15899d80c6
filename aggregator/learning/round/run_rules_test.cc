#include "aggregator/learning/round/run_rules.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "aggregator/learning/round/run_fixture.h"

namespace tributary::learning {
namespace {

class RunRulesTest : public RunFixture {
 protected:
  // Who was asked last, with all that was said of them.
  std::string Asked() const { return Last<RoundStarted>().started.SerializeAsString(); }
};

TEST_F(RunRulesTest, StartsWhenEnoughNodesHaveJoined) {
  Join("ash");
  Join("birch");
  EXPECT_EQ(run_->phase(), v1::RUN_STATE_WAITING);
  EXPECT_EQ(run_->TaskOf("ash").reason, "2 of 3 required nodes connected");
  Join("cedar");
  ASSERT_EQ(Count<RoundStarted>(), 1u);
  EXPECT_EQ(Last<RoundStarted>().started.asked_size(), 3);
  EXPECT_EQ(run_->TaskOf("ash"), (NodeTask{TaskKind::kTrain, 1, kDeadline, ""}));
}

TEST_F(RunRulesTest, ClosesWhenEveryoneHasAnswered) {
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

TEST_F(RunRulesTest, ADeadNodeHoldsNoRoundBeyondItsDeadline) {
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

TEST_F(RunRulesTest, ARoundWithoutQuorumChangesNothing) {
  JoinThree();
  Submit("ash");
  Advance(kDeadline);
  ASSERT_EQ(Count<RoundFailed>(), 1u);
  EXPECT_EQ(Last<RoundFailed>().failure(), "1 of 3 nodes answered, 2 are needed");
  EXPECT_EQ(run_->round(), 2u);
  EXPECT_EQ(run_->committed, 0u);
  EXPECT_EQ(Accepted(), 0u);
  EXPECT_EQ(Offer("birch", 1).reason, v1::SUBMIT_REFUSAL_STALE);
}

TEST_F(RunRulesTest, ANodeThatRestartsKeepsItsPlace) {
  JoinThree();
  Join("ash", "second boot");
  Leave("ash", "first boot");  // of the older stream: without effect
  EXPECT_TRUE(Status("ash").connected());
  EXPECT_EQ(run_->TaskOf("ash").kind, TaskKind::kTrain);
  Leave("ash", "second boot");
  EXPECT_FALSE(Status("ash").connected());
  Join("ash", "third boot");
  Submit("ash");
  EXPECT_EQ(run_->roster.joined(), 3u);
}

TEST_F(RunRulesTest, PauseLetsTheRoundEndAndStartsNoOther) {
  JoinThree();
  for (const bool first : {true, false}) {
    const absl::StatusOr<RunOutcome> paused = rules_->SetPaused(true, now_ns_);
    ASSERT_TRUE(paused.ok());
    EXPECT_EQ(paused->state_changed, first);
  }
  for (const char* node : {"ash", "birch", "cedar"}) Submit(node);
  Commit();
  EXPECT_EQ(run_->phase(), v1::RUN_STATE_PAUSED);
  EXPECT_EQ(run_->TaskOf("ash").reason, "paused");
  EXPECT_EQ(Advance(kDeadline), kNoDeadline);
  ASSERT_TRUE(Take(rules_->SetPaused(false, now_ns_)).ok());
  EXPECT_EQ(run_->round(), 2u);
}

TEST_F(RunRulesTest, StopEndsTheRoundUnderWay) {
  JoinThree();
  Submit("ash");
  ASSERT_TRUE(Take(rules_->Stop()).ok());
  EXPECT_EQ(Count<RoundFailed>(), 1u);
  EXPECT_EQ(run_->phase(), v1::RUN_STATE_STOPPED);
  EXPECT_EQ(run_->TaskOf("ash").kind, TaskKind::kEnded);
  EXPECT_EQ(Offer("birch", 1).reason, v1::SUBMIT_REFUSAL_NOT_RUNNING);
  EXPECT_TRUE(rules_->Stop()->empty());
  EXPECT_FALSE(rules_->SetPaused(false, now_ns_).ok());
}

TEST_F(RunRulesTest, FinishesAfterItsRounds) {
  JoinThree();
  for (std::uint32_t round = 0; round < config_.rounds; ++round) {
    for (const char* node : {"ash", "birch", "cedar"}) Submit(node);
    Commit();
  }
  EXPECT_EQ(run_->phase(), v1::RUN_STATE_FINISHED);
  EXPECT_EQ(run_->TaskOf("ash").kind, TaskKind::kEnded);
  EXPECT_FALSE(rules_->SetPaused(true, now_ns_).ok());
}

TEST_F(RunRulesTest, ARollbackGivesTheRoundUp) {
  JoinThree();
  Submit("ash");
  Take(rules_->ReplaceModel(Identity(77), now_ns_));
  EXPECT_EQ(Count<RoundFailed>(), 1u);
  EXPECT_EQ(run_->round(), 2u);
  EXPECT_EQ(Header("birch", 2).base_model_sha256(), parameters::BytesOf(Identity(77)));
  Submit("birch");
}

TEST_F(RunRulesTest, RefusesNodesThatTheRunCannotUse) {
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

TEST_F(RunRulesTest, ANodeThatDoesNotKnowItsSamplesIsNotAsked) {
  JoinThree();
  v1::ParticipateRequest node = Declaration("fir");
  node.set_sample_count(0);
  ASSERT_TRUE(Join(node).ok());
  EXPECT_EQ(run_->TaskOf("fir").reason, "the node has not said how many samples it has");
}

TEST_F(RunRulesTest, AsksAShareOfTheNodesRepeatably) {
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
