#include "aggregator/learning/round/submissions.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "aggregator/learning/round/run_fixture.h"

namespace tributary::learning {
namespace {

using Verdict = AdmissionVerdict;

class SubmissionsTest : public RunFixture {};

TEST_F(SubmissionsTest, ASecondSubmissionIsAnsweredLikeTheFirstAndChangesNothing) {
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

TEST_F(SubmissionsTest, RefusesWhatBelongsToAnotherRound) {
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

TEST_F(SubmissionsTest, RefusesAnUpdateAfterTheDeadlineThatNobodyHasNoticedYet) {
  JoinThree();
  now_ns_ = kDeadline + 1;
  EXPECT_EQ(Offer("ash", 1).reason, v1::SUBMIT_REFUSAL_LATE);
}

TEST_F(SubmissionsTest, RefusesANodeThatDidNotJoinOrWasNotAsked) {
  JoinThree();
  EXPECT_EQ(Offer("mallory", 1).reason, v1::SUBMIT_REFUSAL_NOT_JOINED);
  Join("fir");
  EXPECT_EQ(run_->TaskOf("fir").reason, "round 1 is under way");
  EXPECT_EQ(Offer("fir", 1).reason, v1::SUBMIT_REFUSAL_NOT_ASKED);
}

TEST_F(SubmissionsTest, RefusesHeadersThatDoNotFitTheModel) {
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

TEST_F(SubmissionsTest, OneSubmissionOfANodeAtATime) {
  JoinThree();
  const v1::UpdateHeader header = Header("ash", 1);
  EXPECT_EQ(rules_->submissions().Admit(header, now_ns_).verdict, Verdict::kGo);
  const Admission second = rules_->submissions().Admit(header, now_ns_);
  EXPECT_EQ(second.reason, v1::SUBMIT_REFUSAL_DUPLICATE);
  EXPECT_TRUE(second.try_again);
  rules_->submissions().Withdraw(header);
  EXPECT_EQ(rules_->submissions().Admit(header, now_ns_).verdict, Verdict::kGo);
  rules_->submissions().Withdraw(header, v1::SUBMIT_REFUSAL_NOT_FINITE);
  EXPECT_EQ(Status("ash").last_refusal(), "not_finite: round 1");
  Submit("ash");
  EXPECT_EQ(Accepted(), 1u);
}

TEST_F(SubmissionsTest, AnUploadThatOutlivesItsRoundLeavesTheNextOneAlone) {
  JoinThree();
  for (const bool complete : {true, false}) {
    SCOPED_TRACE(complete);
    ASSERT_EQ(rules_->submissions().Admit(Header("ash", run_->round()), now_ns_).verdict, Verdict::kGo);
    const v1::UpdateHeader late = Header("ash", run_->round());
    Advance(now_ns_ + kDeadline);
    ASSERT_EQ(rules_->submissions().Admit(Header("ash", run_->round()), now_ns_).verdict, Verdict::kGo);
    if (complete) {
      EXPECT_EQ(Accept(late).reason, v1::SUBMIT_REFUSAL_STALE);
    } else {
      rules_->submissions().Withdraw(late);
    }
    EXPECT_EQ(Accept(Header("ash", run_->round())).verdict, Verdict::kGo);
    Advance(now_ns_ + kDeadline);
  }
}

TEST_F(SubmissionsTest, ANodeWhoseUpdateCanNeverBeTakenHoldsNobodyUp) {
  JoinThree();
  const v1::UpdateHeader header = Header("cedar", 1);
  ASSERT_EQ(rules_->submissions().Admit(header, now_ns_).verdict, Verdict::kGo);
  Submit("ash");
  Submit("birch");
  EXPECT_EQ(Count<RoundClosed>(), 0u);
  rules_->submissions().Withdraw(header, v1::SUBMIT_REFUSAL_OUT_OF_RANGE);
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kWait);
  Advance(1);
  ASSERT_EQ(Count<RoundClosed>(), 1u);
  EXPECT_EQ(Last<RoundClosed>().dropped, std::vector<std::string>{"cedar"});
  Commit();
  EXPECT_EQ(run_->TaskOf("cedar").round, 2u);
}

TEST_F(SubmissionsTest, ANodeThatMendsItsUpdateIsTaken) {
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
TEST_F(SubmissionsTest, WaitsForANodeWhoseUpdateWasDamagedOnItsWay) {
  JoinThree();
  const v1::UpdateHeader header = Header("cedar", 1);
  ASSERT_EQ(rules_->submissions().Admit(header, now_ns_).verdict, Verdict::kGo);
  rules_->submissions().Withdraw(header, v1::SUBMIT_REFUSAL_INCOMPLETE);
  EXPECT_EQ(Offer("cedar", 7).reason, v1::SUBMIT_REFUSAL_FUTURE_ROUND);
  Submit("ash");
  Submit("birch");
  Advance(1);
  EXPECT_EQ(Count<RoundClosed>(), 0u);
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kTrain);
}

TEST_F(SubmissionsTest, AnUpdateThatIsNotCompleteBeforeTheRoundEndsIsRefused) {
  JoinThree();
  const v1::UpdateHeader header = Header("cedar", 1);
  ASSERT_EQ(rules_->submissions().Admit(header, now_ns_).verdict, Verdict::kGo);
  Submit("ash");
  Submit("birch");
  Advance(kDeadline);
  Commit();
  EXPECT_EQ(Accept(header).reason, v1::SUBMIT_REFUSAL_STALE);
}

}  // namespace
}  // namespace tributary::learning
