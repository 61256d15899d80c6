#include "aggregator/learning/rules/node_clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "aggregator/learning/rules/node_clusters_fixture.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary::learning {
namespace {

using nn::RandomStream;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(NodeClustersTest, FindsWhichNodesFitTogether) {
  const UpdateWorld world{.cluster_of = {0, 1, 2, 0, 1, 2, 0, 1, 0}};
  const FoundClusters found = FindIn(world, 12);
  EXPECT_EQ(found.clusters, TrueClusters(world, {0, 1, 2})) << found.why_none;
  EXPECT_THAT(found.alone, IsEmpty());
  EXPECT_GT(found.agreement, 0.8);
}

TEST(NodeClustersTest, FindsASmallClusterBesideALargeOne) {
  const UpdateWorld world{.cluster_of = {0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, .of_node = 0.1};
  EXPECT_EQ(FindIn(world, 20).clusters, TrueClusters(world, {0, 1}));
}

TEST(NodeClustersTest, FindsNothingWhereNodesDifferByChance) {
  const FoundClusters found = FindIn({.cluster_of = std::vector<std::size_t>(12), .of_node = 0}, 20);
  EXPECT_THAT(found.clusters, IsEmpty());
  EXPECT_THAT(found.why_none, HasSubstr("what 12 nodes differ by is chance"));
}

TEST(NodeClustersTest, FindsNothingWhereEachNodeDiffersInItsOwnWay) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const UpdateWorld world{.cluster_of = std::vector<std::size_t>(12), .of_node = 1, .seed = seed};
    EXPECT_THAT(FindIn(world, 20).clusters, IsEmpty()) << seed;
  }
}

TEST(NodeClustersTest, FindsNoMoreClustersThanItMay) {
  const UpdateWorld world{.cluster_of = {0, 0, 1, 1, 2, 2, 3, 3}};
  EXPECT_THAT(FindIn(world, 12).clusters, SizeIs(4));
  const FoundClusters found = FindIn(world, 12, {}, 3);
  EXPECT_LE(found.clusters.size(), 3U);
}

TEST(NodeClustersTest, NodesThatHaveLeftAreNotJudged) {
  NodeClusters clusters(4, {});
  const UpdateWorld all{.cluster_of = {0, 1, 0, 1, 0, 1, 2, 2}}, rest{.cluster_of = {0, 1, 0, 1, 0, 1}};
  unsigned round = 0;
  for (; round < 12; ++round) SendRound(all, round, clusters);
  EXPECT_EQ(clusters.Find().clusters, TrueClusters(all, {0, 1, 2}));
  for (; round < 31; ++round) SendRound(rest, round, clusters);
  EXPECT_THAT(clusters.Find().clusters, SizeIs(3));
  for (; round < 40; ++round) SendRound(rest, round, clusters);
  EXPECT_EQ(clusters.Find().clusters, TrueClusters(rest, {0, 1}));
}

TEST(NodeClustersTest, DoesNotJudgeAfterFewRounds) {
  const UpdateWorld world{.cluster_of = {0, 1, 0, 1, 0, 1}};
  EXPECT_EQ(FindIn(world, 5).why_none, "0 nodes have taken part in 6 rounds, 4 are needed");
  EXPECT_THAT(FindIn(world, 12).clusters, SizeIs(2));
}

TEST(NodeClustersTest, JudgesNodesThatTakePartNowAndThen) {
  const UpdateWorld world{.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1}};
  NodeClusters clusters(4, {});
  RandomStream random(3);
  for (unsigned round = 0; round < 30; ++round) {
    SendRound(world, round, clusters, [&random](std::size_t, UpdateValues& update) {
      if (random.Uniform() < 0.4) std::ranges::fill(update, 0.0F);  // a direction that is none does not count
    });
  }
  EXPECT_EQ(clusters.Find().clusters, TrueClusters(world, {0, 1}));
}

TEST(NodeClustersTest, StatisticsDoNotCount) {
  const UpdateWorld world{.cluster_of = std::vector<std::size_t>(8), .of_node = 0};
  const auto measure = [](std::size_t node, UpdateValues& update) {
    for (std::size_t i = 500; i < 1'500; ++i) update[i] = node % 2 == 0 ? 100.0F : -100.0F;
  };
  EXPECT_THAT(FindIn(world, 12, measure).clusters, SizeIs(2));
  NodeClusters clusters(
      8, {{.first = 500, .count = 600, .variance = false}, {.first = 1'100, .count = 400, .variance = true}});
  for (unsigned round = 0; round < 12; ++round) SendRound(world, round, clusters, measure);
  EXPECT_THAT(clusters.Find().clusters, IsEmpty());
}

TEST(NodeClustersTest, ARoundThatBeginsAgainCountsOnce) {
  const UpdateWorld world{.cluster_of = {0, 1, 0, 1}};
  NodeClusters once(4, {}), again(4, {});
  for (unsigned round = 0; round < 8; ++round) {
    SendRound(world, round, once);
    again.StartRound();
    for (std::size_t node = 0; node < 4; ++node) again.Add(NodeName(node), 0, RandomUpdate(55, node));
    SendRound(world, round, again);
  }
  EXPECT_EQ(once.Find().agreement, again.Find().agreement);
}

TEST(NodeClustersTest, KeepsTheNodesThatWereSeenLast) {
  NodeClusters clusters(4, {});
  for (std::size_t node = 0; node < NodeClusters::kMaxNodes; ++node) {
    clusters.StartRound();
    for (const std::size_t each : {node, node + 1'000})
      clusters.Add(NodeName(each), 0, RandomUpdate(7, each));
    clusters.EndRound();
  }
  const UpdateWorld world{.cluster_of = {0, 1, 0, 1, 0, 1}};
  for (unsigned round = 0; round < 12; ++round) SendRound(world, round, clusters);
  EXPECT_EQ(clusters.Find().clusters, TrueClusters(world, {0, 1}));
}

TEST(NodeClustersTest, MoreNodesThanItHoldsAreLeftOut) {
  NodeClusters clusters(4, {});
  for (unsigned round = 0; round < 7; ++round) {
    clusters.StartRound();
    for (std::size_t node = 0; node < 300; ++node) {
      clusters.Add(NodeName(node), 0, std::vector<float>{1.0F, node % 2 == 0 ? 1.0F : -1.0F});
    }
    clusters.EndRound();
  }
  const FoundClusters found = clusters.Find();
  ASSERT_THAT(found.clusters, SizeIs(2));
  EXPECT_EQ(found.clusters[0].size() + found.clusters[1].size(), NodeClusters::kMaxNodes);
}

TEST(UpdateSketchTest, KeepsInnerProducts) {
  double squares = 0;
  constexpr std::uint64_t kPairs = 200;
  for (std::uint64_t pair = 0; pair < kPairs; ++pair) {
    const UpdateValues a = RandomUpdate(pair, 1), b = RandomUpdate(pair, 2);
    UpdateSketch of_a = {}, of_b = {};
    AddToSketch(0, a, of_a);
    AddToSketch(0, b, of_b);
    const double exact = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    const double found = std::inner_product(of_a.begin(), of_a.end(), of_b.begin(), 0.0);
    squares += (found - exact) * (found - exact) / kPairs;
  }
  // 200 pairs tell a standard deviation to 5 % (one sigma).
  EXPECT_NEAR(std::sqrt(squares), kUpdateElements / std::sqrt(static_cast<double>(kSketchSize)),
              0.2 * kUpdateElements / std::sqrt(static_cast<double>(kSketchSize)));
}

}  // namespace
}  // namespace tributary::learning
