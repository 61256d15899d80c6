// Nodes that a parent hears of twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggregator/learning/relay/relay_fixture.h"

namespace tributary::learning {
namespace {

using testing::Child;
using ::testing::ElementsAre;
using testing::Eventually;
using testing::TestNode;

class RelayDuplicatesTest : public testing::RelayFixture {};

TEST_F(RelayDuplicatesTest, ANodeThatIsConnectedTwiceCountsOnceAndCostsTheOthersBelowTheChildNothing) {
  StartRun(parent_, Config(3, "quorum = 2\n"), 3);
  Child hall(parent_, "hall", 2);
  TestNode twice(parent_, "a", 1), other(parent_, "b", 1);
  TestNode below(hall.host(), "a", 1, ""), c(hall.host(), "c", 2, "");
  EXPECT_TRUE(below.Submit(InRun(below.Header(below.NextTrain())), {8, 8, 8}).accepted());
  EXPECT_TRUE(c.Submit(InRun(c.Header(c.NextTrain())), {8, 0, 8}).accepted());
  EXPECT_TRUE(twice.Submit(twice.NextTrain(), {4, 0, 0}).accepted());
  EXPECT_TRUE(other.Submit(other.NextTrain(), {4, 0, 0}).accepted());
  const v1::Round counted = parent_.WaitForRound(1);
  EXPECT_EQ(counted.accepted(), 3u);
  EXPECT_EQ(counted.sample_count(), 4u);
  // 0, 1, 2 and the mean 6, 0, 4.
  EXPECT_THAT(parent_.Parameters(1), ElementsAre(6, 1, 6));
  const v1::Round said = hall.host().WaitForRound(1);
  EXPECT_EQ(said.failure(), "");
  EXPECT_EQ(said.accepted(), 1u);
  EXPECT_EQ(said.dropped(), 1u);
  EXPECT_EQ(hall.relay().counters().left_out, 1u);
  EXPECT_EQ(hall.relay().counters().contributors, 1u);
}

TEST_F(RelayDuplicatesTest, ANodeThatIsConnectedToTwoChildrenCountsOnce) {
  StartRun(parent_, Config(2), 3);
  Child hall(parent_, "hall", 2), attic(parent_, "attic", 2);
  TestNode here(hall.host(), "a", 1, ""), b(hall.host(), "b", 1, "");
  TestNode there(attic.host(), "a", 1, ""), c(attic.host(), "c", 2, "");
  EXPECT_TRUE(here.Submit(InRun(here.Header(here.NextTrain())), {4, 0, 0}).accepted());
  EXPECT_TRUE(b.Submit(InRun(b.Header(b.NextTrain())), {4, 0, 0}).accepted());
  EXPECT_TRUE(Eventually([&] { return hall.relay().counters().accepted == 1; }));
  EXPECT_TRUE(there.Submit(InRun(there.Header(there.NextTrain())), {8, 8, 8}).accepted());
  EXPECT_TRUE(c.Submit(InRun(c.Header(c.NextTrain())), {8, 0, 8}).accepted());
  EXPECT_EQ(parent_.WaitForRound(1).sample_count(), 4u);
  EXPECT_THAT(parent_.Parameters(1), ElementsAre(6, 1, 6));
}

// The child's sum cannot be taken apart: it is left out as a whole, by its parent.
TEST_F(RelayDuplicatesTest, ANodeThatIsConnectedTwiceBelowAChildOfAChildCostsThatChildAlone) {
  StartRun(parent_, Config(2), 3);
  Child hall(parent_, "hall", 2);
  Child attic(hall.host(), "attic", 1);
  TestNode twice(parent_, "a", 1), b(hall.host(), "b", 1, "");
  TestNode below(attic.host(), "a", 1, "");
  EXPECT_TRUE(below.Submit(InRun(below.Header(below.NextTrain())), {8, 8, 8}).accepted());
  EXPECT_TRUE(b.Submit(InRun(b.Header(b.NextTrain())), {4, 0, 4}).accepted());
  EXPECT_TRUE(twice.Submit(twice.NextTrain(), {2, 0, 0}).accepted());
  EXPECT_EQ(parent_.WaitForRound(1).sample_count(), 2u);
  EXPECT_THAT(parent_.Parameters(1), ElementsAre(3, 1, 4));
}

// After a restart the sum is what the store has, and is mended then.
TEST_F(RelayDuplicatesTest, WhatIsCountedElsewhereIsLeftOutAlsoAfterARestart) {
  StartRun(parent_, Config(2), 3);
  Child hall(parent_, "hall", 2);
  TestNode twice(parent_, "a", 1);
  {
    TestNode below(hall.host(), "a", 1, ""), c(hall.host(), "c", 1, "");
    const v1::TrainTask task = below.NextTrain();
    parent_.Stop();
    EXPECT_TRUE(below.Submit(InRun(below.Header(task)), {8, 8, 8}).accepted());
    EXPECT_TRUE(c.Submit(InRun(c.Header(c.NextTrain())), {4, 0, 4}).accepted());
  }
  parent_.Start();
  hall.Restart();
  TestNode again(parent_, "a", 1);
  EXPECT_TRUE(again.Submit(again.NextTrain(), {2, 0, 0}).accepted());
  EXPECT_EQ(parent_.WaitForRound(1).sample_count(), 2u);
  EXPECT_THAT(parent_.Parameters(1), ElementsAre(3, 1, 4));
  EXPECT_EQ(hall.relay().counters().left_out, 1u);
}

}  // namespace
}  // namespace tributary::learning
