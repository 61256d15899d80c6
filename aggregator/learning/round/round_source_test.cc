// Where rounds come from: how often an attempt looks at all nodes, and what starts.
#include "aggregator/learning/round/round_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tributary::learning {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class RoundSourceTest : public ::testing::Test {
 protected:
  void Join(std::string node, std::uint64_t samples = 100) {
    v1::ParticipateRequest declaration;
    declaration.set_node(std::move(node));
    declaration.set_sample_count(samples);
    roster_.Join(declaration);
  }
  static ParentRound Round(std::uint64_t samples) {
    return {5, {}, {.fraction_bits = 7, .bound = 8}, samples, 60 * kSecond};
  }

  RunConfig config_;
  Roster roster_;
  std::uint32_t last_ = 0;
};

TEST_F(RoundSourceTest, ADrawThatNeverHitsTheQuorumIsNotRepeatedByEachNodeThatJoins) {
  config_.sample_fraction = 1e-12;
  DrawnRounds rounds(config_, 0);
  Join("ash");
  EXPECT_FALSE(rounds.Next(roster_, last_, 0));
  EXPECT_EQ(last_, 0u) << "too few nodes: no lots were drawn";
  Join("birch");
  EXPECT_FALSE(rounds.Next(roster_, last_, 0));
  const std::uint32_t drawn = last_;
  EXPECT_GT(drawn, 0u);
  for (int i = 0; i < 10; ++i) {
    Join("node" + std::to_string(i));
    EXPECT_FALSE(rounds.Next(roster_, last_, 1));
  }
  EXPECT_EQ(last_, drawn);
  EXPECT_EQ(rounds.next_ns(1), kSecond) << "it asks to be called then";
  EXPECT_FALSE(rounds.Next(roster_, last_, kSecond));
  EXPECT_EQ(last_, 2 * drawn);
}

TEST_F(RoundSourceTest, WordsAreWideWhereTheLightestCouldEndARoundAlone) {
  DrawnRounds rounds(config_, 0);
  Join("ash", 10);
  Join("birch", 1'000);
  EXPECT_EQ(rounds.Next(roster_, last_, 0)->started.word_bits(), 32u) << "both must answer";
  Join("cedar", 1'000'000'000);
  const std::optional<RoundPlan> plan = rounds.Next(roster_, last_, 0);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->started.word_bits(), 64u);
  EXPECT_EQ(plan->started.asked_size(), 3);
}

TEST_F(RoundSourceTest, AMaskedRoundDoesNotAskWhoWouldDrownTheOthers) {
  config_.privacy.secure_aggregation = true;
  DrawnRounds rounds(config_, 0);
  Join("ash", 10);
  Join("birch", 1'000'000'000);
  EXPECT_FALSE(rounds.Next(roster_, last_, 0)) << "a quorum of two";
  EXPECT_THAT(rounds.StatusMessage(roster_, last_), ::testing::HasSubstr("1 of them declare over 16 times"));
  Join("cedar", 100);
  const std::optional<RoundPlan> plan = rounds.Next(roster_, last_, 2 * kSecond);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->started.word_bits(), 32u);
  ASSERT_EQ(plan->started.asked_size(), 2);
  EXPECT_EQ(plan->started.asked(1).node(), "cedar");
}

TEST_F(RoundSourceTest, PassesOverNumbersWhoseDrawMissesTheQuorum) {
  config_.sample_fraction = 0.1;
  DrawnRounds rounds(config_, 0);
  for (const char* node : {"ash", "birch", "cedar"}) Join(node);
  const std::optional<RoundPlan> plan = rounds.Next(roster_, last_, 0);
  ASSERT_TRUE(plan);
  EXPECT_GE(plan->started.asked_size(), static_cast<int>(config_.quorum));
  EXPECT_EQ(plan->round, last_);
  EXPECT_EQ(plan->deadline_ns, config_.deadline_ns);
}

// These numbers come from the first release: who is asked must not depend on the release.
TEST_F(RoundSourceTest, DrawsTheSameNodesInEveryRelease) {
  config_.sample_fraction = 0.5;
  config_.client.set_seed(3);
  DrawnRounds rounds(config_, 11);
  for (int i = 0; i < 10; ++i) Join("node" + std::to_string(i));
  const std::optional<RoundPlan> plan = rounds.Next(roster_, last_, 0);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->round, 1u);
  std::string asked;
  for (const v1::AskedNode& node : plan->started.asked()) asked += node.node().back();
  EXPECT_EQ(asked, "24589");
}

TEST_F(RoundSourceTest, AParentsRoundStartsOnceTheSamplesAreThere) {
  ParentRounds rounds(UpdateWeighting::kSamples);
  ParentRound round = Round(200);
  round.failed_rounds = 2;
  rounds.Begin(round, 0);
  Join("ash");
  EXPECT_FALSE(rounds.Next(roster_, last_, 0));
  EXPECT_EQ(rounds.next_ns(0), ParentRounds::kGatherNs);
  Join("birch");
  const std::optional<RoundPlan> plan = rounds.Next(roster_, last_, 0);
  ASSERT_TRUE(plan);
  EXPECT_EQ(last_, 5u);
  EXPECT_EQ(plan->started.failed_rounds(), 2u) << "the learning rate's schedule is the parent's";
  EXPECT_EQ(plan->deadline_ns, 60 * kSecond);
  EXPECT_FALSE(rounds.gathering());
  EXPECT_EQ(rounds.next_ns(0), kNoDeadline);
}

TEST_F(RoundSourceTest, NodesWhoseSamplesDoNotAddUpAreNotTriedWithEachNodeThatJoins) {
  ParentRounds rounds(UpdateWeighting::kSamples);
  rounds.Begin(Round(200), 0);
  Join("ash", 150);
  Join("birch", 150);
  EXPECT_FALSE(rounds.Next(roster_, last_, 0));
  Join("cedar", 50);
  EXPECT_FALSE(rounds.Next(roster_, last_, 0)) << "not yet again";
  const std::int64_t again_ns = rounds.next_ns(0);
  EXPECT_LT(again_ns, kSecond);
  const std::optional<RoundPlan> plan = rounds.Next(roster_, last_, again_ns);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->started.asked_size(), 2);
}

TEST_F(RoundSourceTest, AParentsRoundWithoutAnyNodeIsGivenUp) {
  ParentRounds rounds(UpdateWeighting::kSamples);
  rounds.Begin(Round(200), 0);
  rounds.Forget(4);
  EXPECT_TRUE(rounds.gathering()) << "another number";
  EXPECT_FALSE(rounds.Next(roster_, last_, ParentRounds::kGatherNs));
  EXPECT_FALSE(rounds.gathering());
  EXPECT_EQ(last_, 0u);
}

}  // namespace
}  // namespace tributary::learning
