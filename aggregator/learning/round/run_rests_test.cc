// Rests between rounds that fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggregator/learning/round/run_fixture.h"

namespace tributary::learning {
namespace {

using ::testing::HasSubstr;

class RunRestsTest : public RunFixture {
 protected:
  RunRestsTest() {
    config_.deadline_ns = 3'600'000'000'000;
    Create();
    JoinThree();
  }
  // Lets each round fail as soon as it is under way, up to that time.
  void LetRoundsFailUntil(std::int64_t end_ns) {
    while (now_ns_ < end_ns) {
      if (run_->under_way() != nullptr) {
        Take(rules_->FailRound(run_->round(), "too few good shares", now_ns_));
      }
      Advance(now_ns_ + 10'000'000);
    }
  }
};

// Two hostile nodes let 5,113 rounds fail in twenty seconds, each a line of the history and a sync.
TEST_F(RunRestsTest, HostileNodesLetFiveRoundsFailInTwentySeconds) {
  LetRoundsFailUntil(20'000'000'000);
  EXPECT_EQ(Count<RoundFailed>(), 5u) << "after 0, 1, 3, 7 and 15 s";
  EXPECT_THAT(run_->StatusMessage(),
              HasSubstr("round 5 came to nothing, 5 rounds in a row; another one follows 16 s after it"));
}

TEST_F(RunRestsTest, InTheLongRunOneRoundAMinuteFails) {
  LetRoundsFailUntil(3'600'000'000'000);
  EXPECT_LE(Count<RoundFailed>(), 66u);
  EXPECT_GE(Count<RoundFailed>(), 60u) << "the run goes on trying";
  EXPECT_THAT(run_->StatusMessage(), HasSubstr("60 s after it"));
}

TEST_F(RunRestsTest, ACommittedRoundMakesTheNextRestShort) {
  LetRoundsFailUntil(20'000'000'000);
  Advance(32'000'000'000);
  CommitOneRoundOf({"ash", "birch", "cedar"});
  Take(rules_->FailRound(run_->round(), "too few good shares", now_ns_));
  EXPECT_EQ(Advance(now_ns_) - now_ns_, 1'000'000'000);
}

TEST_F(RunRestsTest, AShortRestBeforeADeadlineDoesNotShortenTheNext) {
  Advance(config_.deadline_ns - 10'000'000);
  Take(rules_->FailRound(run_->round(), "too few good shares", now_ns_));
  Advance(config_.deadline_ns);
  ASSERT_EQ(run_->round(), 2u);
  Take(rules_->FailRound(run_->round(), "too few good shares", now_ns_));
  EXPECT_EQ(Advance(now_ns_) - now_ns_, 2'000'000'000);
}

TEST_F(RunRestsTest, ARoundThatFailsAtItsDeadlineIsFollowedByTheNextAtOnce) {
  Advance(config_.deadline_ns);
  EXPECT_EQ(run_->round(), 2u);
}

}  // namespace
}  // namespace tributary::learning
