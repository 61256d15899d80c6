// FedBuff: a run that waits for no round.
#include <gtest/gtest.h>

#include <cmath>

#include "aggregator/learning/round/run_fixture.h"

namespace tributary::learning {
namespace {

using Verdict = AdmissionVerdict;

class BufferedRunTest : public RunFixture {
 protected:
  BufferedRunTest() {
    config_.strategy.kind = StrategyKind::kFedBuff;
    config_.buffer = {.size = 2, .max_staleness = 2, .staleness_exponent = 0.5};
    config_.rounds = 50;
    Create();
  }
};

TEST_F(BufferedRunTest, ClosesWithAFullBuffer) {
  JoinThree();
  Submit("ash");
  EXPECT_EQ(Count<RoundClosed>(), 0u);
  Submit("birch");
  ASSERT_EQ(Count<RoundClosed>(), 1u);
  EXPECT_EQ(Last<RoundClosed>().total_weight, 200);
  EXPECT_EQ(Offer("cedar", 1).reason, v1::SUBMIT_REFUSAL_BUSY);
  Commit();
  EXPECT_EQ(run_->TaskOf("ash").round, 2u);
}

TEST_F(BufferedRunTest, WeighsAStaleUpdateLess) {
  JoinThree();
  const parameters::Sha256 first = model_.model;
  CommitOneRoundOf({"ash", "birch"});
  v1::UpdateHeader late = Header("cedar", 1);
  late.set_base_model_sha256(parameters::BytesOf(first));
  EXPECT_EQ(Offer(late).verdict, Verdict::kGo);
  EXPECT_DOUBLE_EQ(Last<UpdateAccepted>().update.weight(), 100 / std::sqrt(2.0));
  Submit("ash");
  EXPECT_DOUBLE_EQ(Last<RoundClosed>().total_weight, 100 + 100 / std::sqrt(2.0));
}

TEST_F(BufferedRunTest, RefusesWhatIsTooFarBehindOrNotFromThatVersion) {
  JoinThree();
  const parameters::Sha256 first = model_.model;
  v1::UpdateHeader late = Header("cedar", 1);
  late.set_base_model_sha256(parameters::BytesOf(first));
  for (int round = 0; round < 3; ++round) CommitOneRoundOf({"ash", "birch"});
  EXPECT_EQ(Offer(late).reason, v1::SUBMIT_REFUSAL_STALE);
  late.set_round(2);
  EXPECT_EQ(Offer(late).reason, v1::SUBMIT_REFUSAL_BASE_MODEL);
}

TEST_F(BufferedRunTest, CountsNoUpdateTwiceAcrossVersionsAndRestarts) {
  JoinThree();
  const v1::UpdateHeader header = Header("ash", 1);
  CommitOneRoundOf({"ash", "birch"});
  EXPECT_EQ(Offer(header).verdict, Verdict::kAlreadyAccepted);
  Restart();
  EXPECT_EQ(Offer(header).verdict, Verdict::kAlreadyAccepted);
  EXPECT_EQ(Accepted(), 0u);
}

TEST_F(BufferedRunTest, AnUpdateThatStraddlesAVersionIsSentAgain) {
  JoinThree();
  const v1::UpdateHeader header = Header("cedar", 1);
  ASSERT_EQ(rules_->submissions().Admit(header, now_ns_).verdict, Verdict::kGo);
  CommitOneRoundOf({"ash", "birch"});
  const Admission answer = Accept(header);
  EXPECT_EQ(answer.reason, v1::SUBMIT_REFUSAL_STALE);
  EXPECT_TRUE(answer.try_again);
  EXPECT_EQ(Offer(header).verdict, Verdict::kGo);
}

// Otherwise it would train and send the same in a circle.
TEST_F(BufferedRunTest, ANodeThatJoinedLaterAndSendsWhatCanNeverBeTakenRestsUntilTheDeadline) {
  JoinThree();
  Join("dogwood");
  v1::UpdateHeader wrong = Header("dogwood", 1);
  wrong.set_element_count(wrong.element_count() + 1);
  EXPECT_EQ(Offer(wrong).reason, v1::SUBMIT_REFUSAL_SCHEMA);
  EXPECT_EQ(run_->TaskOf("dogwood").kind, TaskKind::kWait);
  Advance(kDeadline);
  EXPECT_EQ(run_->TaskOf("dogwood").kind, TaskKind::kTrain);
}

TEST_F(BufferedRunTest, ANodeThatHasLostItsSamplesMayDeclineTheTaskThatItHad) {
  JoinThree();
  v1::ParticipateRequest empty = Declaration("ash");
  empty.set_sample_count(0);
  ASSERT_TRUE(RunFixture::Join(empty).ok());
  EXPECT_EQ(run_->TaskOf("ash").kind, TaskKind::kWait);
  EXPECT_TRUE(*Decline("ash", "first boot", 1, Because(v1::DECLINE_REASON_IMAGES, false, "no images")));
}

// One that kept quiet for some versions could fill a buffer, and the quorum, by itself.
TEST_F(BufferedRunTest, TakesOneUpdateOfANodeInABufferEvenAfterARestart) {
  JoinThree();
  v1::UpdateHeader late = Header("cedar", 1);
  CommitOneRoundOf({"ash", "birch"});
  EXPECT_EQ(Offer(late).verdict, Verdict::kGo);
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kWait);
  const v1::UpdateHeader second = Header("cedar", 2);
  for (int i = 0; i < 2; ++i) {
    const Admission answer = Offer(second);
    EXPECT_EQ(answer.reason, v1::SUBMIT_REFUSAL_BUSY);
    EXPECT_TRUE(answer.try_again);
    EXPECT_EQ(Accepted(), 1u);
    Restart();
  }
  Submit("ash");
  EXPECT_DOUBLE_EQ(Last<RoundClosed>().total_weight, 100 + 100 / std::sqrt(2.0));
  Commit();
  JoinThree();  // after the restart: the next version begins
  EXPECT_EQ(Offer(second).verdict, Verdict::kGo);
}

}  // namespace
}  // namespace tributary::learning
