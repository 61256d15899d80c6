// kill -9 of an aggregator and of nodes in the middle of a run: no accepted update is lost, and the result
// equals that of an undisturbed run, bit for bit.
#include "tests/faults/federation_small_run.h"

namespace tributary::testing {
namespace {

TEST(FederationKillTest, TheSameRunTwiceGivesTheSameBits) {
  ASSERT_FALSE(QuietResult().empty());
  SmallRun again;
  EXPECT_EQ(again.Finish(), QuietResult());
}

TEST(FederationKillTest, TheAggregatorsDeathAtTenRandomPointsChangesNoBit) { ExpectTheQuietResultAfter(10); }

TEST(FederationKillTest, TheAggregatorsDeathAtAHundredRandomPointsChangesNoBit) {
  ExpectTheQuietResultAfter(100);
}

TEST(FederationKillTest, DeadNodesComeBackAndTheRunFinishesWithTheSameBits) {
  SmallRun run;
  std::mt19937 random(2);
  for (int kill = 0; kill < 6 && run.CommittedRounds() < kRounds; ++kill) {
    std::this_thread::sleep_for(
        std::chrono::milliseconds(std::uniform_int_distribution<int>(0, 300)(random)));
    run.KillNode(kill % kNodes);
  }
  EXPECT_EQ(run.Finish(), QuietResult());
}

}  // namespace
}  // namespace tributary::testing
