// Whom each operation concerns: what a caller tells must not grow with the number of nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aggregator/learning/round/run_fixture.h"

namespace tributary::learning {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RunChangesTest : public RunFixture {
 protected:
  const v1::DeclineTaskRequest kForNow = Because(v1::DECLINE_REASON_TRAINING, false, "training diverged");

  // Nobody but these.
  void ExpectNodes(std::vector<std::string> nodes) {
    const ChangedNodes changed = rules_->TakeChanged();
    EXPECT_FALSE(changed.everyone);
    EXPECT_EQ(changed.nodes, nodes);
  }
  void ExpectEveryone() {
    const ChangedNodes changed = rules_->TakeChanged();
    EXPECT_TRUE(changed.everyone);
    EXPECT_THAT(changed.nodes, IsEmpty());
  }
  void ExpectNobody() { ExpectNodes({}); }
  void StartWithThree() {
    Create();
    JoinThree();
    (void)rules_->TakeChanged();
  }
};

TEST_F(RunChangesTest, EveryoneIsNewToARunThatBegins) {
  ExpectEveryone();
  ExpectNobody();
}

TEST_F(RunChangesTest, AJoinConcernsTheNodeUntilItMakesARoundBegin) {
  (void)rules_->TakeChanged();
  Join("birch");
  ExpectNodes({"birch"});
  Join("ash");
  Join("birch", "second boot");
  ExpectNodes({"ash", "birch"});
  Join("cedar");
  ExpectEveryone();
  Join("dogwood");
  ExpectNodes({"dogwood"});
  EXPECT_FALSE(Join(Declaration("")).ok());
  ExpectNobody();
}

TEST_F(RunChangesTest, ALeaveConcernsTheNode) {
  StartWithThree();
  Leave("ash", "another boot");
  ExpectNobody();
  Leave("ash");
  ExpectNodes({"ash"});
}

TEST_F(RunChangesTest, ASubmissionConcernsItsNodeUntilItEndsTheRound) {
  StartWithThree();
  const v1::UpdateHeader header = Header("ash", 1);
  ASSERT_TRUE(rules_->submissions().Admit(header, now_ns_).go());
  ExpectNobody();
  rules_->submissions().Withdraw(header);
  ExpectNobody();
  ASSERT_TRUE(rules_->submissions().Admit(header, now_ns_).go());
  rules_->submissions().Withdraw(header, v1::SUBMIT_REFUSAL_NOT_FINITE);
  ExpectNodes({"ash"});
  Submit("ash");
  ExpectNodes({"ash"});
  EXPECT_EQ(Offer("ash", 1).verdict, AdmissionVerdict::kAlreadyAccepted);
  EXPECT_EQ(Offer("mallory", 1).reason, v1::SUBMIT_REFUSAL_NOT_JOINED);
  ExpectNobody();
  EXPECT_EQ(Offer("birch", 9).reason, v1::SUBMIT_REFUSAL_FUTURE_ROUND);
  ExpectNodes({"birch"});
  Submit("birch");
  (void)rules_->TakeChanged();
  Submit("cedar");
  ExpectEveryone();
  Commit();
  ExpectEveryone();
}

TEST_F(RunChangesTest, ADeclineConcernsTheNodeUntilItEndsTheRound) {
  StartWithThree();
  ASSERT_TRUE(Decline("cedar", "first boot", 1, kForNow).ok());
  ExpectNodes({"cedar"});
  EXPECT_EQ(Decline("cedar", "first boot", 1, kForNow).value(), false);
  EXPECT_FALSE(Decline("birch", "another boot", 1, kForNow).ok());
  ExpectNobody();
  ASSERT_TRUE(Decline("birch", "first boot", 1, kForNow).ok());
  ExpectEveryone();
}

TEST_F(RunChangesTest, LeavingANodeOutConcernsIt) {
  StartWithThree();
  rules_->LeaveOut("ash", "it gave out wrong shares");
  ExpectNodes({"ash"});
  rules_->LeaveOut("mallory", "it is unknown");
  ExpectNobody();
}

TEST_F(RunChangesTest, AStepConcernsItsNodesOneByOneAndItsEndEveryone) {
  config_.privacy.secure_aggregation = true;
  StartWithThree();
  for (const char* node : {"ash", "birch"}) {
    ASSERT_TRUE(FinishStep(node, RoundStep::kKeys).ok());
    ExpectNodes({node});
  }
  EXPECT_FALSE(FinishStep("cedar", RoundStep::kShares).ok());
  ExpectNobody();
  ASSERT_TRUE(FinishStep("cedar", RoundStep::kKeys).ok());
  ExpectEveryone();
}

TEST_F(RunChangesTest, TheClockConcernsNobodyUntilTheDeadline) {
  StartWithThree();
  Advance(kDeadline - 1);
  ExpectNobody();
  Advance(kDeadline);
  ExpectEveryone();
}

TEST_F(RunChangesTest, AnotherDeadlineConcernsEveryone) {
  config_.strategy.kind = StrategyKind::kFedBuff;
  StartWithThree();
  EXPECT_TRUE(rules_->Advance(kDeadline).outcome.empty()) << "nothing is to be stored";
  ExpectEveryone();

  StartWithThree();
  Restart();
  ExpectEveryone();
}

TEST_F(RunChangesTest, AnOperatorConcernsEveryone) {
  StartWithThree();
  ASSERT_TRUE(rules_->SetPaused(true, now_ns_).ok());
  ExpectEveryone();
  ASSERT_TRUE(rules_->SetPaused(true, now_ns_).ok());
  ExpectNobody();
  ASSERT_TRUE(rules_->SetPaused(false, now_ns_).ok());
  ExpectEveryone();
  ASSERT_TRUE(rules_->SetPaused(false, now_ns_).ok());
  ExpectNobody();
  Take(rules_->FailRound(7, "another round", now_ns_));
  ExpectNobody();
  Take(rules_->FailRound(1, "too few shares", now_ns_));
  ExpectEveryone();
  Take(rules_->ReplaceModel(Identity(77), now_ns_));
  ExpectEveryone();
  ASSERT_TRUE(rules_->Stop().ok());
  ExpectEveryone();
  ASSERT_TRUE(rules_->Stop().ok());
  ExpectNobody();
}

TEST_F(RunChangesTest, AParentsRoundConcernsEveryone) {
  config_.relayed = true;
  config_.quorum = 1;
  StartWithThree();
  ParentRound round{1, Identity(1), {.fraction_bits = 7, .bound = 8}, 300, 1'000'000};
  EXPECT_TRUE(rules_->Begin(round, now_ns_)->state_changed);
  Advance(now_ns_);
  ExpectEveryone();
  round.deadline_ns += 1;
  EXPECT_TRUE(rules_->Begin(round, now_ns_)->empty()) << "nothing is to be stored";
  ExpectEveryone();
}

TEST_F(RunChangesTest, ACrowdIsEveryone) {
  config_.max_nodes = ChangeLog::kNamed + 1;
  config_.min_nodes = ChangeLog::kNamed + 1;
  Create();
  (void)rules_->TakeChanged();
  for (std::size_t i = 0; i < ChangeLog::kNamed; ++i) Join("node" + std::to_string(i));
  EXPECT_EQ(rules_->TakeChanged().nodes.size(), ChangeLog::kNamed);
  for (std::size_t i = 0; i < ChangeLog::kNamed; ++i) Leave("node" + std::to_string(i));
  EXPECT_FALSE(rules_->TakeChanged().everyone);
  for (std::size_t i = 0; i < ChangeLog::kNamed; ++i) {
    Join("node" + std::to_string(i));
    Leave("node" + std::to_string(i));
  }
  EXPECT_FALSE(rules_->TakeChanged().everyone) << "each counts once";
  for (std::size_t i = 0; i <= ChangeLog::kNamed; ++i) {
    v1::ParticipateRequest declaration = Declaration("node" + std::to_string(i));
    declaration.set_sample_count(0);
    ASSERT_TRUE(Join(declaration).ok());
  }
  ExpectEveryone();
}

TEST_F(RunChangesTest, OneUpdateAmongTenThousandNodesConcernsOneNode) {
  constexpr std::uint32_t kNodes = 9'999;  // and one that comes later
  config_.max_nodes = kNodes + 1;
  config_.min_nodes = kNodes;
  Create();
  for (std::uint32_t i = 0; i < kNodes; ++i) Join("node" + std::to_string(i));
  ASSERT_EQ(run_->round(), 1u);
  (void)rules_->TakeChanged();
  for (const char* node : {"node7", "node9998"}) {
    ASSERT_TRUE(rules_->submissions().Admit(Header(node, 1), now_ns_).go());
    const Acceptance answer = rules_->submissions().Accept(Header(node, 1), now_ns_);
    EXPECT_TRUE(answer.admission.go());
    EXPECT_TRUE(answer.outcome.empty());
    ExpectNodes({node});
    EXPECT_EQ(run_->under_way()->Asked(node)->node(), node);
  }
  Join("node9999");
  ExpectNodes({"node9999"});
  EXPECT_EQ(run_->under_way()->Asked("node9999"), nullptr);
  EXPECT_EQ(run_->roster.connected(), kNodes + 1);
}

}  // namespace
}  // namespace tributary::learning
