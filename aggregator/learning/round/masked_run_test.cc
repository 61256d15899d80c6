// Secure aggregation: a round in steps.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aggregator/learning/round/run_fixture.h"

namespace tributary::learning {
namespace {

using Verdict = AdmissionVerdict;

class MaskedRunTest : public RunFixture {
 protected:
  MaskedRunTest() {
    config_.privacy.secure_aggregation = true;
    Create();
  }
  void FinishAll(RoundStep step) {
    for (const char* node : {"ash", "birch", "cedar"}) ASSERT_TRUE(FinishStep(node, step).ok());
  }
  v1::UpdateHeader Masked(const char* node) {
    v1::UpdateHeader header = Header(node, run_->round());
    header.set_encoding(v1::UPDATE_ENCODING_FIXED32);
    return header;
  }
};

TEST_F(MaskedRunTest, GoesThroughItsSteps) {
  JoinThree();
  EXPECT_EQ(run_->TaskOf("ash").kind, TaskKind::kAdvertiseKeys);
  FinishAll(RoundStep::kKeys);
  EXPECT_EQ(MaskingThreshold(3), 2u);
  EXPECT_EQ(run_->TaskOf("ash").kind, TaskKind::kShareKeys);
  FinishAll(RoundStep::kShares);
  EXPECT_EQ(run_->TaskOf("ash").kind, TaskKind::kTrain);
  EXPECT_EQ(Offer("ash", 1).reason, v1::SUBMIT_REFUSAL_ENCODING);
  EXPECT_EQ(Offer(Masked("ash")).verdict, Verdict::kGo);
  EXPECT_EQ(Offer(Masked("birch")).verdict, Verdict::kGo);
  Advance(kDeadline);
  EXPECT_EQ(Last<StepStarted>().step, RoundStep::kUnmasking);
  EXPECT_EQ(Last<StepStarted>().nodes, (std::vector<std::string>{"ash", "birch"}));
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kWait);
  EXPECT_FALSE(FinishStep("cedar", RoundStep::kUnmasking).ok());
  EXPECT_EQ(Offer(Masked("cedar")).reason, v1::SUBMIT_REFUSAL_STALE);
  ASSERT_TRUE(FinishStep("ash", RoundStep::kUnmasking).ok());
  ASSERT_TRUE(FinishStep("birch", RoundStep::kUnmasking).ok());
  EXPECT_EQ(Last<RoundClosed>().dropped, std::vector<std::string>{"cedar"});
  Commit();
  EXPECT_EQ(run_->TaskOf("ash").kind, TaskKind::kAdvertiseKeys);
}

TEST_F(MaskedRunTest, FailsARoundWithTooFewShares) {
  JoinThree();
  FinishAll(RoundStep::kKeys);
  ASSERT_TRUE(FinishStep("ash", RoundStep::kShares).ok());
  Advance(kDeadline);
  EXPECT_EQ(Count<RoundFailed>(), 1u);
  EXPECT_EQ(run_->round(), 2u);
}

TEST_F(MaskedRunTest, DoesNotGoOnWithoutItsKeys) {
  JoinThree();
  FinishAll(RoundStep::kKeys);
  Restart();
  EXPECT_EQ(Count<RoundFailed>(), 1u);
  JoinThree();
  EXPECT_EQ(run_->round(), 2u);
}

// Otherwise the sum of masked words would go into the model.
TEST_F(MaskedRunTest, AClosedRoundIsNotAveragedWithoutItsKeysAfterARestart) {
  JoinThree();
  FinishAll(RoundStep::kKeys);
  FinishAll(RoundStep::kShares);
  for (const char* node : {"ash", "birch", "cedar"}) EXPECT_EQ(Offer(Masked(node)).verdict, Verdict::kGo);
  for (const char* node : {"ash", "birch"}) ASSERT_TRUE(FinishStep(node, RoundStep::kUnmasking).ok());
  ASSERT_TRUE(run_->closed());
  Restart();
  EXPECT_EQ(Count<RoundClosed>(), 0u);
  EXPECT_EQ(Count<RoundFailed>(), 1u);
}

TEST_F(MaskedRunTest, ANodeThatIsLeftOutAfterItsPartOfAStepDoesNotEndTheStep) {
  JoinThree();
  for (const char* node : {"ash", "birch"}) ASSERT_TRUE(FinishStep(node, RoundStep::kKeys).ok());
  rules_->LeaveOut("ash", "it gave out wrong shares");
  Advance(1);
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kAdvertiseKeys);
  ASSERT_TRUE(FinishStep("cedar", RoundStep::kKeys).ok());
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kShareKeys);
}

}  // namespace
}  // namespace tributary::learning
