// FedBuff: a run that waits for no round.
#include <gtest/gtest.h>

#include <cmath>

#include "aggregator/learning/round/run_fixture.h"

namespace tributary {
namespace {

using Verdict = AdmissionVerdict;
using Reason = SubmissionRefusal;

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
  EXPECT_EQ(Offer("cedar", 1).reason, Reason::kBusy);
  Commit();
  EXPECT_EQ(run_->TaskOf("ash").round, 2u);
}

TEST_F(BufferedRunTest, WeighsAStaleUpdateLess) {
  JoinThree();
  const Sha256 first = model_.model;
  CommitOneRoundOf({"ash", "birch"});
  SubmissionHeader late = Header("cedar", 1);
  late.base_model = first;
  EXPECT_EQ(Offer(late).verdict, Verdict::kGo);
  EXPECT_DOUBLE_EQ(run_->accepted().back().weight, 100 / std::sqrt(2.0));
  Submit("ash");
  EXPECT_DOUBLE_EQ(Last<RoundClosed>().total_weight, 100 + 100 / std::sqrt(2.0));
}

TEST_F(BufferedRunTest, RefusesWhatIsTooFarBehindOrNotFromThatVersion) {
  JoinThree();
  const Sha256 first = model_.model;
  SubmissionHeader late = Header("cedar", 1);
  late.base_model = first;
  for (int round = 0; round < 3; ++round) CommitOneRoundOf({"ash", "birch"});
  EXPECT_EQ(Offer(late).reason, Reason::kStale);
  late.round = 2;
  EXPECT_EQ(Offer(late).reason, Reason::kBaseModel);
}

TEST_F(BufferedRunTest, CountsNoUpdateTwiceAcrossVersionsAndRestarts) {
  JoinThree();
  const SubmissionHeader header = Header("ash", 1);
  CommitOneRoundOf({"ash", "birch"});
  EXPECT_EQ(Offer(header).verdict, Verdict::kAlreadyAccepted);
  Restart(run_->Snapshot());
  EXPECT_EQ(Offer(header).verdict, Verdict::kAlreadyAccepted);
  EXPECT_TRUE(run_->accepted().empty());
}

TEST_F(BufferedRunTest, AnUpdateThatStraddlesAVersionIsSentAgain) {
  JoinThree();
  const SubmissionHeader header = Header("cedar", 1);
  ASSERT_EQ(run_->Admit(header, now_ns_).verdict, Verdict::kGo);
  CommitOneRoundOf({"ash", "birch"});
  const Admission answer = run_->Accept(header, now_ns_, events_);
  EXPECT_EQ(answer.reason, Reason::kStale);
  EXPECT_TRUE(answer.try_again);
  EXPECT_EQ(Offer(header).verdict, Verdict::kGo);
}

}  // namespace
}  // namespace tributary
