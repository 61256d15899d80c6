// Nodes that say that they cannot do their task: the round does not wait for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aggregator/learning/round/run_fixture.h"

namespace tributary::learning {
namespace {

using ::testing::HasSubstr;
using Verdict = AdmissionVerdict;

class RunDeclinesTest : public RunFixture {
 protected:
  const v1::DeclineTaskRequest kForGood =
      Because(v1::DECLINE_REASON_IMAGES, true, "images of side 32, the run's encoder takes 28");
  const v1::DeclineTaskRequest kDeclinedForNow =
      Because(v1::DECLINE_REASON_TRAINING, false, "training diverged");

  absl::StatusOr<bool> Decline(const char* node, const v1::DeclineTaskRequest& decline,
                               std::uint32_t round = 0, const char* boot_id = "first boot") {
    return RunFixture::Decline(node, boot_id, round == 0 ? run_->round() : round, decline);
  }
  void Declines(const char* node, const v1::DeclineTaskRequest& decline) {
    const auto news = Decline(node, decline);
    ASSERT_TRUE(news.ok()) << news.status();
    EXPECT_TRUE(*news);
  }
};

TEST_F(RunDeclinesTest, TheRoundEndsWithoutTheNodeAndSaysWhy) {
  JoinThree();
  Declines("cedar", kForGood);
  Submit("ash");
  EXPECT_EQ(Count<RoundClosed>(), 0u);
  Submit("birch");
  EXPECT_EQ(Last<RoundClosed>().dropped, std::vector<std::string>{"cedar"});
  EXPECT_EQ(run_->under_way()->line().declined(), 1u);
  ASSERT_EQ(run_->under_way()->line().declines_size(), 1);
  EXPECT_EQ(run_->under_way()->line().declines(0).node(), "cedar");
  EXPECT_EQ(run_->under_way()->line().declines(0).reason(), "images");
  EXPECT_EQ(run_->under_way()->line().declines(0).message(), kForGood.message());
  EXPECT_EQ(Status("cedar").declined_tasks(), 1u);
  EXPECT_EQ(Status("cedar").last_refusal(), "declined round 1: images: " + kForGood.message());
  EXPECT_EQ(Status("cedar").cannot_train(), "images: " + kForGood.message());
}

TEST_F(RunDeclinesTest, ANodeThatCannotTrainIsNotAskedAgainAndTheRunSaysSo) {
  JoinThree();
  Declines("cedar", kForGood);
  CommitOneRoundOf({"ash", "birch"});
  EXPECT_EQ(run_->round(), 0u) << "it needs three";
  EXPECT_EQ(run_->StatusMessage(), "2 of 3 required nodes connected, 1 more cannot train");
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kWait);
  EXPECT_THAT(run_->TaskOf("cedar").reason, HasSubstr("images of side 32"));
  Join("cedar");
  EXPECT_EQ(run_->round(), 0u) << "the same process, the same images";
  Join("cedar", "second boot");
  EXPECT_EQ(run_->round(), 2u);
  EXPECT_EQ(Status("cedar").cannot_train(), "");
}

TEST_F(RunDeclinesTest, AnotherDeclarationIsAnotherChance) {
  JoinThree();
  Declines("cedar", kForGood);
  v1::ParticipateRequest more = Declaration("cedar");
  more.set_sample_count(more.sample_count() + 1);
  ASSERT_TRUE(Join(more).ok());
  EXPECT_FALSE(run_->CannotTrain("cedar"));
}

TEST_F(RunDeclinesTest, ANodeThatCannotForNowIsAskedInTheNextRound) {
  JoinThree();
  Declines("cedar", kDeclinedForNow);
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kWait);
  EXPECT_EQ(Offer("cedar", 1).reason, v1::SUBMIT_REFUSAL_NOT_ASKED) << "it had its say";
  CommitOneRoundOf({"ash", "birch"});
  EXPECT_EQ(run_->round(), 2u);
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kTrain);
}

TEST_F(RunDeclinesTest, ARoundWhoseQuorumIsOutOfReachFailsAtOnce) {
  JoinThree();
  Declines("birch", kForGood);
  EXPECT_EQ(Count<RoundFailed>(), 0u);
  Declines("cedar", kForGood);
  EXPECT_EQ(Count<RoundFailed>(), 1u);
  EXPECT_THAT(Last<RoundFailed>().failure(),
              HasSubstr("2 declined, birch because of images: images of side 32"));
  EXPECT_EQ(Last<RoundFailed>().declined(), 2u);
  EXPECT_EQ(Offer("ash", 1).reason, v1::SUBMIT_REFUSAL_STALE);
}

// Otherwise rounds would be burnt, and written down, as fast as messages come.
TEST_F(RunDeclinesTest, ARoundThatWasDeclinedIsNotFollowedByAnotherAtOnce) {
  config_.deadline_ns = 3'600'000'000'000;
  Create();
  JoinThree();
  Declines("birch", kDeclinedForNow);
  Declines("cedar", kDeclinedForNow);
  ASSERT_EQ(Count<RoundFailed>(), 1u);
  EXPECT_EQ(run_->round(), 0u);
  std::int64_t next_ns = Advance(now_ns_);
  EXPECT_EQ(next_ns, 1'000'000'000) << "it asks to be called then";
  Join("cedar", "second boot");
  EXPECT_EQ(run_->round(), 0u);
  EXPECT_THAT(run_->StatusMessage(), HasSubstr("another one follows"));
  for (std::uint32_t round = 2; round < 12; ++round) {
    Advance(next_ns);
    ASSERT_EQ(run_->round(), round);
    Declines("birch", kDeclinedForNow);
    EXPECT_TRUE(Decline("cedar", kDeclinedForNow, 0, "second boot").ok());
    next_ns = Advance(now_ns_);
    EXPECT_EQ(next_ns - now_ns_, std::min<std::int64_t>(60, 1 << (round - 1)) * 1'000'000'000);
  }
  Advance(next_ns);
  CommitOneRoundOf({"ash", "birch", "cedar"});
  Declines("ash", kDeclinedForNow);
  Declines("birch", kDeclinedForNow);
  EXPECT_EQ(Advance(now_ns_) - now_ns_, 1'000'000'000) << "a round between was good";
}

TEST_F(RunDeclinesTest, ARestIsNoLongerThanTheDeadline) {
  JoinThree();
  Declines("birch", kDeclinedForNow);
  Declines("cedar", kDeclinedForNow);
  EXPECT_EQ(Advance(now_ns_), kDeadline);
}

// A node whose update could not be taken may send another one.
TEST_F(RunDeclinesTest, ARefusedUpdateDoesNotPutTheQuorumOutOfReach) {
  JoinThree();
  Declines("cedar", kDeclinedForNow);
  v1::UpdateHeader header = Header("birch", 1);
  header.set_element_count(7);
  EXPECT_EQ(Offer(header).reason, v1::SUBMIT_REFUSAL_SCHEMA);
  EXPECT_EQ(Count<RoundFailed>(), 0u);
  Submit("birch");
  Submit("ash");
  EXPECT_EQ(Count<RoundClosed>(), 1u);
}

TEST_F(RunDeclinesTest, RepeatingItChangesNothing) {
  JoinThree();
  Declines("cedar", kDeclinedForNow);
  EXPECT_EQ(*Decline("cedar", kDeclinedForNow), false);
  EXPECT_EQ(Status("cedar").declined_tasks(), 1u);
  EXPECT_EQ(run_->under_way()->line().declined(), 1u);
}

TEST_F(RunDeclinesTest, OnlyWhoIsAskedMayDeclineAndOnlyAsItself) {
  JoinThree();
  Join("dogwood");  // after the round began
  EXPECT_FALSE(Decline("dogwood", kForGood).ok());
  EXPECT_FALSE(Decline("elder", kForGood).ok());
  EXPECT_FALSE(Decline("ash", kForGood, 7).ok());
  EXPECT_FALSE(Decline("ash", kForGood, 1, "an earlier process").ok());
  Submit("ash");
  EXPECT_FALSE(Decline("ash", kForGood).ok()) << "its update counts";
  EXPECT_EQ(run_->under_way()->line().declined(), 0u);
  for (const char* node : {"ash", "dogwood"}) EXPECT_FALSE(run_->CannotTrain(node));
}

TEST_F(RunDeclinesTest, ATaskThatCannotBeReadIsDeclinedWithoutItsRound) {
  JoinThree();
  const auto news = RunFixture::Decline("cedar", "first boot", 0, kForGood);
  ASSERT_TRUE(news.ok()) << news.status();
  EXPECT_TRUE(run_->CannotTrain("cedar"));
}

TEST_F(RunDeclinesTest, ACrowdLeavesAFewNamesAndACount) {
  constexpr int kNodes = 200;
  config_.max_nodes = kNodes + 3;
  config_.min_nodes = kNodes;
  Create();
  for (int i = 0; i < kNodes; ++i) Join("node" + std::to_string(i));
  for (int i = 2; i < kNodes; ++i) Declines(("node" + std::to_string(i)).c_str(), kDeclinedForNow);
  EXPECT_EQ(run_->under_way()->line().declined(), kNodes - 2u);
  EXPECT_EQ(run_->under_way()->line().declines_size(), Round::kNamedDeclines);
}

TEST_F(RunDeclinesTest, WithSecureAggregationItIsDroppedAtWhateverStep) {
  config_.privacy.secure_aggregation = true;
  config_.min_nodes = 4;
  Create();
  JoinThree();
  Join("dogwood");
  const auto finish = [&](std::initializer_list<const char*> nodes, RoundStep step) {
    for (const char* node : nodes) {
      ASSERT_TRUE(FinishStep(node, step).ok()) << node;
    }
  };
  Declines("dogwood", kDeclinedForNow);
  finish({"ash", "birch", "cedar"}, RoundStep::kKeys);
  finish({"ash", "birch", "cedar"}, RoundStep::kShares);
  Declines("cedar", kDeclinedForNow);
  for (const char* node : {"ash", "birch"}) {
    v1::UpdateHeader header = Header(node, run_->round());
    header.set_encoding(v1::UPDATE_ENCODING_FIXED32);
    EXPECT_EQ(Offer(header).verdict, Verdict::kGo);
  }
  EXPECT_EQ(Last<StepStarted>().step, RoundStep::kUnmasking);
  EXPECT_EQ(Last<StepStarted>().nodes, (std::vector<std::string>{"ash", "birch"}));
  EXPECT_EQ(run_->under_way()->line().declined(), 2u) << "of the whole round";
  Declines("birch", kDeclinedForNow);
  EXPECT_EQ(Count<RoundFailed>(), 1u) << "one share of two";
}

TEST_F(RunDeclinesTest, FedBuffGoesOnWithTheOthersAndAsksAgainAfterItsDeadline) {
  config_.strategy.kind = StrategyKind::kFedBuff;
  config_.buffer.size = 2;
  Create();
  JoinThree();
  Declines("cedar", kDeclinedForNow);
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kWait);
  Declines("birch", kForGood);
  Submit("ash");
  Advance(kDeadline);
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kTrain);
  EXPECT_EQ(run_->TaskOf("birch").kind, TaskKind::kWait);
  Submit("cedar");
  EXPECT_EQ(Count<RoundClosed>(), 1u);
}

}  // namespace
}  // namespace tributary::learning
