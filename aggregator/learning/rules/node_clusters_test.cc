#include "aggregator/learning/rules/node_clusters.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/nn/kernel/random_stream.h"

namespace tributary::learning {
namespace {

using nn::RandomStream;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t kUpdateElements = 3'000;

using UpdateValues = std::vector<float>;

UpdateValues RandomUpdate(std::uint64_t key, std::uint64_t index) {
  RandomStream random = RandomStream::Of(key, index);
  UpdateValues direction(kUpdateElements);
  for (float& value : direction) value = static_cast<float>(random.Normal());
  return direction;
}

// What the update of a node is made of, by standard deviation of its elements.
struct UpdateWorld {
  std::vector<std::size_t> cluster_of;  // of each node
  double common = 1;                    // the same for all
  double of_cluster = 0.6;              // the same for a cluster, in all rounds
  double of_node = 0.2;                 // the same in all rounds
  double of_round = 1;                  // chance
  std::uint64_t seed = 1;
};

std::string NodeName(std::size_t node) { return fmt::format("node-{:03}", node); }

using ChangeUpdate = std::function<void(std::size_t node, UpdateValues& update)>;

void SendRound(const UpdateWorld& world, std::uint64_t round, NodeClusters& clusters,
               const ChangeUpdate& change = {}) {
  clusters.StartRound();
  for (std::size_t node = 0; node < world.cluster_of.size(); ++node) {
    const UpdateValues common = RandomUpdate(world.seed, 1),
                       of_round = RandomUpdate(world.seed, 1'000'000 + 1'000 * round + node);
    const UpdateValues of_cluster = RandomUpdate(world.seed, 100 + world.cluster_of[node]);
    const UpdateValues of_node = RandomUpdate(world.seed, 10'000 + node);
    UpdateValues update(kUpdateElements);
    for (std::size_t i = 0; i < kUpdateElements; ++i) {
      update[i] = static_cast<float>(world.common * common[i] + world.of_cluster * of_cluster[i] +
                                     world.of_node * of_node[i] + world.of_round * of_round[i]);
    }
    if (change) change(node, update);
    // In two parts, as chunks come.
    clusters.Add(NodeName(node), 0, std::span(update).first(kUpdateElements / 3));
    clusters.Add(NodeName(node), kUpdateElements / 3, std::span(update).subspan(kUpdateElements / 3));
  }
  clusters.EndRound();
}

FoundClusters FindIn(const UpdateWorld& world, unsigned rounds, const ChangeUpdate& change = {},
                     std::size_t most = 8) {
  NodeClusters clusters(most, {});
  for (unsigned round = 0; round < rounds; ++round) SendRound(world, round, clusters, change);
  return clusters.Find();
}

// The nodes of each cluster, the largest cluster first.
std::vector<std::vector<std::string>> TrueClusters(const UpdateWorld& world,
                                                   const std::vector<std::size_t>& order) {
  std::vector<std::vector<std::string>> truth(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t node = 0; node < world.cluster_of.size(); ++node) {
      if (world.cluster_of[node] == order[i]) truth[i].push_back(NodeName(node));
    }
  }
  return truth;
}

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

TEST(NodeClustersTest, LargeUpdatesWeighNoMore) {
  const UpdateWorld world{.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1}};
  const auto shout = [](std::size_t node, UpdateValues& update) {
    for (float& value : update) value *= node == 1 ? 1'000.0F : 1.0F;
  };
  EXPECT_EQ(FindIn(world, 12, shout).clusters, TrueClusters(world, {0, 1}));
}

TEST(NodeClustersTest, NodesThatLieAreAlone) {
  const UpdateWorld world{.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 7, 8}};
  const auto lie = [](std::size_t node, UpdateValues& update) {
    if (node >= 10) update = RandomUpdate(99, node);
  };
  const FoundClusters found = FindIn(world, 12, lie);
  EXPECT_EQ(found.clusters, TrueClusters(world, {0, 1})) << found.why_none;
  EXPECT_THAT(found.alone, ElementsAre(NodeName(10), NodeName(11)));
}

// Two nodes that send one direction in even rounds, its opposite in odd ones, and each other's opposite: each
// says nothing that lasts, and both together look alike.
ChangeUpdate Contradict(std::size_t first, std::uint64_t& round) {
  return [first, &round](std::size_t node, UpdateValues& update) {
    if (node < first) return;
    update = RandomUpdate(99, 1);
    const bool against = (round + node) % 2 == 0;
    for (float& value : update) value *= against ? -1.0F : 1.0F;
  };
}

FoundClusters FindBesideContradiction(const UpdateWorld& world, std::size_t first) {
  NodeClusters clusters(4, {});
  std::uint64_t round = 0;
  const ChangeUpdate change = Contradict(first, round);
  for (; round < 30; ++round) SendRound(world, round, clusters, change);
  return clusters.Find();
}

TEST(NodeClustersTest, NodesThatContradictThemselvesDisplaceNobody) {
  const FoundClusters two = FindBesideContradiction({.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1, 7, 7}}, 8);
  ASSERT_GE(two.clusters.size(), 2U) << two.why_none;
  EXPECT_EQ(two.clusters[0], TrueClusters({.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1}}, {0})[0]);
  EXPECT_EQ(two.clusters[1], TrueClusters({.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1}}, {1})[0]);
  EXPECT_LE(two.agreement, 1);
  const std::vector<std::size_t> kinds = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  std::vector<std::size_t> with_two = kinds;
  with_two.insert(with_two.end(), {7, 7});
  const FoundClusters four = FindBesideContradiction({.cluster_of = with_two}, kinds.size());
  for (std::size_t kind = 0; kind < 4; ++kind) {
    EXPECT_THAT(four.clusters, ::testing::Contains(TrueClusters({.cluster_of = kinds}, {kind})[0]))
        << four.why_none;
  }
}

TEST(NodeClustersTest, NodesThatContradictThemselvesDoNotPartNodesThatAreAlike) {
  for (const std::size_t honest : {8U, 20U}) {
    const UpdateWorld world{.cluster_of = std::vector<std::size_t>(honest + 2), .of_node = 0};
    const FoundClusters found = FindBesideContradiction(world, honest);
    const UpdateWorld alike{.cluster_of = std::vector<std::size_t>(honest)};
    if (!found.clusters.empty()) EXPECT_EQ(found.clusters[0], TrueClusters(alike, {0})[0]);
  }
}

TEST(NodeClustersTest, ANodeThatContradictsItselfIsAlone) {
  const FoundClusters found =
      FindBesideContradiction({.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1, 7}, .of_cluster = 0.8}, 8);
  EXPECT_EQ(found.clusters, TrueClusters({.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1}}, {0, 1})) << found.why_none;
  EXPECT_THAT(found.alone, ElementsAre(NodeName(8)));
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
