// Places in a run: who holds one, and who gives it back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "aggregator/learning/round/run_fixture.h"

namespace tributary::learning {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class RunPlacesTest : public RunFixture {
 protected:
  absl::Status TryJoin(const std::string& node, std::uint64_t samples = 100) {
    v1::ParticipateRequest declaration = Declaration(node);
    declaration.set_sample_count(samples);
    return Join(declaration);
  }
  // Three nodes of a round, and others up to as many as the run takes.
  void FillWithOthersOf(std::uint64_t samples) {
    JoinThree();
    for (std::size_t i = 3; i < config_.max_nodes; ++i) {
      ASSERT_TRUE(TryJoin("other " + std::to_string(i), samples).ok());
    }
  }
};

TEST_F(RunPlacesTest, ANodeThatLeftWithoutAnUpdateGivesItsPlaceBack) {
  FillWithOthersOf(100);
  EXPECT_EQ(TryJoin("late").code(), absl::StatusCode::kResourceExhausted);
  Leave("other 4");
  EXPECT_TRUE(TryJoin("late").ok());
  EXPECT_EQ(run_->roster.Find("other 4"), nullptr);
  EXPECT_EQ(run_->roster.joined(), config_.max_nodes);
}

// 255 of them kept every other node out of a run.
TEST_F(RunPlacesTest, ConnectedNodesWithoutSamplesHoldNoPlaceAgainstThoseThatHaveSome) {
  FillWithOthersOf(0);
  rules_->TakeChanged();
  for (std::size_t i = 3; i < config_.max_nodes; ++i) {
    EXPECT_TRUE(TryJoin("useful " + std::to_string(i)).ok()) << i;
  }
  EXPECT_EQ(run_->roster.joined(), config_.max_nodes);
  EXPECT_EQ(run_->roster.connected(), config_.max_nodes);
  EXPECT_THAT(rules_->TakeChanged().nodes, Contains("other 3")) << "it is told";
  EXPECT_THAT(run_->TaskOf("other 3").reason, HasSubstr("has no place"));
  EXPECT_EQ(TryJoin("late").code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(RunPlacesTest, NodesWithoutSamplesDoNotTakeEachOthersPlaces) {
  FillWithOthersOf(0);
  EXPECT_EQ(TryJoin("late", 0).code(), absl::StatusCode::kResourceExhausted);
  Leave("other 4");
  EXPECT_TRUE(TryJoin("late", 0).ok());
}

TEST_F(RunPlacesTest, ANodeThatIsAskedKeepsItsPlaceWhileTheRoundIsUnderWay) {
  FillWithOthersOf(0);
  for (std::size_t i = 3; i < config_.max_nodes; ++i)
    ASSERT_TRUE(TryJoin("useful " + std::to_string(i)).ok());
  Leave("ash");
  EXPECT_EQ(TryJoin("late").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(run_->roster.Find("ash"), nullptr);
  Submit("ash");
}

// The answer to its update may have been lost: it sends the update again.
TEST_F(RunPlacesTest, ANodeOfTheLastRoundKeepsItsPlaceUntilTheNext) {
  FillWithOthersOf(100);
  const v1::UpdateHeader last = Header("ash", run_->round());
  ASSERT_TRUE(rules_->SetPaused(true, now_ns_).ok());
  CommitOneRoundOf({"ash", "birch", "cedar"});
  Leave("ash");
  ASSERT_EQ(TryJoin("late").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Offer(last).verdict, AdmissionVerdict::kAlreadyAccepted);
}

TEST_F(RunPlacesTest, ANodeThatLeftAfterAnUpdateGivesItsPlaceBackInALaterRound) {
  FillWithOthersOf(100);
  CommitOneRoundOf({"ash", "birch", "cedar"});
  Leave("ash");
  for (const char* node : {"birch", "cedar"}) Submit(node);
  Advance(kDeadline);
  Commit();
  EXPECT_TRUE(TryJoin("late").ok());
  EXPECT_EQ(run_->roster.Find("ash"), nullptr);
}

TEST_F(RunPlacesTest, ANodeThatWasLeftOutKeepsItsPlace) {
  FillWithOthersOf(100);
  rules_->LeaveOut("other 4", "it broke the protocol");
  Leave("other 4");
  EXPECT_EQ(TryJoin("late").code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tributary::learning
