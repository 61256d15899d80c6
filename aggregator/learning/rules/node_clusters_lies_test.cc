// What nodes do to the clusters of others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "aggregator/learning/rules/node_clusters.h"
#include "aggregator/learning/rules/node_clusters_fixture.h"

namespace tributary::learning {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NodeClustersLiesTest, LargeUpdatesWeighNoMore) {
  const UpdateWorld world{.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1}};
  const auto shout = [](std::size_t node, UpdateValues& update) {
    for (float& value : update) value *= node == 1 ? 1'000.0F : 1.0F;
  };
  EXPECT_EQ(FindIn(world, 12, shout).clusters, TrueClusters(world, {0, 1}));
}

TEST(NodeClustersLiesTest, NodesThatLieAreAlone) {
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

TEST(NodeClustersLiesTest, NodesThatContradictThemselvesDisplaceNobody) {
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

TEST(NodeClustersLiesTest, NodesThatContradictThemselvesDoNotPartNodesThatAreAlike) {
  for (const std::size_t honest : {8U, 20U}) {
    const UpdateWorld world{.cluster_of = std::vector<std::size_t>(honest + 2), .of_node = 0};
    const FoundClusters found = FindBesideContradiction(world, honest);
    const UpdateWorld alike{.cluster_of = std::vector<std::size_t>(honest)};
    if (!found.clusters.empty()) EXPECT_EQ(found.clusters[0], TrueClusters(alike, {0})[0]);
  }
}

TEST(NodeClustersLiesTest, ANodeThatContradictsItselfIsAlone) {
  const FoundClusters found =
      FindBesideContradiction({.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1, 7}, .of_cluster = 0.8}, 8);
  EXPECT_EQ(found.clusters, TrueClusters({.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1}}, {0, 1})) << found.why_none;
  EXPECT_THAT(found.alone, ElementsAre(NodeName(8)));
}

// The liar's first half is its cluster's direction, its other half nearly nothing: three updates that cancel.
TEST(NodeClustersLiesTest, ANodeThatHidesOneHalfMakesNoOtherSmall) {
  const std::vector<std::size_t> kinds = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  for (const std::size_t liars : {1U, 2U}) {
    UpdateWorld world{.cluster_of = kinds, .of_node = 0.1};
    for (std::size_t liar = 0; liar < liars; ++liar) world.cluster_of.push_back(liar);
    NodeClusters clusters(4, {});
    for (std::uint64_t round = 0; round < 30; ++round) {
      SendRound(world, round, clusters, [&](std::size_t node, UpdateValues& update) {
        if (node < kinds.size()) return;
        const std::size_t kind = node - kinds.size();
        update = RandomUpdate(world.seed, 1);
        const UpdateValues of_kind = RandomUpdate(world.seed, 100 + kind), of_other = RandomUpdate(99, kind);
        const UpdateValues second = RandomUpdate(98, kind);
        // Directions at 120 degrees to each other.
        const double cosine[3] = {1, -0.5, -0.5}, sine[3] = {0, 0.866, -0.866};
        const bool shown = round % 2 == 0;
        const std::size_t turn = round / 2;
        for (std::size_t i = 0; i < kUpdateElements; ++i) {
          const double own = shown      ? of_kind[i]
                             : turn < 3 ? cosine[turn] * of_other[i] + sine[turn] * second[i]
                                        : 0;
          update[i] = shown || turn < 3 ? static_cast<float>(0.8 * update[i] + own) : 0.0F;
        }
      });
      if (round < 12) continue;
      const FoundClusters found = clusters.Find();
      ASSERT_GE(found.clusters.size(), 2U) << round << " " << found.why_none;
      for (const std::size_t kind : {0U, 1U}) {
        const std::vector<std::string> honest = TrueClusters({.cluster_of = kinds}, {kind})[0];
        EXPECT_THAT(found.clusters, ::testing::Contains(::testing::IsSupersetOf(honest))) << round;
      }
    }
  }
}

// Numbers whose squares are no floats.
TEST(NodeClustersLiesTest, SmallUpdatesWeighNoMore) {
  const UpdateWorld world{.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1, 7}};
  UpdateValues small(kUpdateElements);
  UpdateSketch places = {};
  for (std::size_t i = 0; i < kUpdateElements; ++i) {
    UpdateSketch place = {};
    AddToSketch(i, std::vector<float>{1.0F}, place);
    const auto drawn = std::ranges::find_if(place, [](float value) { return value != 0; }) - place.begin();
    if (std::exchange(places[static_cast<std::size_t>(drawn)], 1.0F) == 0) small[i] = 2.6e-23F;
  }
  small[0] = 3.8e-23F;
  const auto whisper = [&small](std::size_t node, UpdateValues& update) {
    if (node == 8) update = small;
  };
  const FoundClusters found = FindIn(world, 12, whisper);
  EXPECT_EQ(found.clusters, TrueClusters({.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1}}, {0, 1})) << found.why_none;
}

// Deterministic trainers on one set, or nodes that take turns: differences are zeros, or what floats round.
TEST(NodeClustersLiesTest, EqualUpdatesFormNoClusters) {
  for (const std::size_t nodes : {4U, 5U, 6U, 7U, 16U}) {
    NodeClusters clusters(4, {});
    const UpdateValues update = RandomUpdate(1, nodes);
    for (unsigned round = 0; round < 12; ++round) {
      clusters.StartRound();
      for (std::size_t node = 0; node < nodes; ++node) clusters.Add(NodeName(node), 0, update);
      clusters.EndRound();
    }
    EXPECT_THAT(clusters.Find().clusters, IsEmpty()) << nodes;
  }
}

TEST(NodeClustersLiesTest, NodesThatTakeTurnsFormNoClusters) {
  NodeClusters clusters(4, {});
  for (std::size_t round = 0; round < 24; ++round) {
    clusters.StartRound();
    clusters.Add(NodeName(round / 6), 0, RandomUpdate(1, round));
    clusters.EndRound();
  }
  EXPECT_THAT(clusters.Find().clusters, IsEmpty());
}

// Two equal nodes alone, and honest ones afterwards.
TEST(NodeClustersLiesTest, NodesWithoutADifferenceAreAlone) {
  NodeClusters clusters(4, {});
  for (unsigned round = 0; round < 6; ++round) {
    clusters.StartRound();
    for (const std::size_t liar : {100U, 101U}) clusters.Add(NodeName(liar), 0, RandomUpdate(1, 2));
    clusters.EndRound();
  }
  const UpdateWorld world{.cluster_of = {0, 1, 0, 1, 0, 1, 0, 1}};
  FoundClusters found;
  for (unsigned round = 0; round < 20; ++round) {
    SendRound(world, round, clusters);
    found = clusters.Find();
  }
  EXPECT_EQ(found.clusters, TrueClusters(world, {0, 1})) << found.why_none;
}

// Where most nodes contradict themselves, two that do not are no division of all.
TEST(NodeClustersLiesTest, AFewSteadyNodesDoNotStandForAll) {
  NodeClusters clusters(4, {});
  const UpdateWorld world{.cluster_of = std::vector<std::size_t>(12), .of_node = 0};
  for (unsigned round = 0; round < 20; ++round) {
    SendRound(world, round, clusters, [&](std::size_t node, UpdateValues& update) {
      const UpdateValues own = RandomUpdate(77, node < 2 ? 0 : node);
      const float sign = node >= 2 && round % 2 == 0 ? -1.0F : 1.0F;
      for (std::size_t i = 0; i < update.size(); ++i) update[i] += 2 * sign * own[i];
    });
  }
  EXPECT_THAT(clusters.Find().clusters, IsEmpty());
}

// Liars that send one direction in odd rounds and its opposite in even ones, with or without a part of their
// own that lasts: they move the mean of each round.
TEST(NodeClustersLiesTest, NodesThatSwingInUnisonHideNobody) {
  const std::vector<std::size_t> kinds = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  for (const std::size_t liars : {3U, 4U, 6U}) {
    for (const float lasting : {0.0F, 0.3F}) {
      UpdateWorld world{.cluster_of = kinds, .of_node = 0.1};
      world.cluster_of.resize(kinds.size() + liars, 7);
      NodeClusters clusters(4, {});
      for (std::uint64_t round = 0; round < 30; ++round) {
        SendRound(world, round, clusters, [&](std::size_t node, UpdateValues& update) {
          if (node < kinds.size()) return;
          update = RandomUpdate(99, 1);
          const UpdateValues own = RandomUpdate(98, node);
          for (std::size_t i = 0; i < kUpdateElements; ++i) {
            update[i] = (round % 2 == 0 ? -update[i] : update[i]) + lasting * own[i];
          }
        });
      }
      const FoundClusters found = clusters.Find();
      for (const std::size_t kind : {0U, 1U}) {
        EXPECT_THAT(found.clusters, ::testing::Contains(TrueClusters({.cluster_of = kinds}, {kind})[0]))
            << liars << " " << lasting << " " << found.why_none;
      }
    }
  }
}

// It comes, goes, comes again and stays away: one long pause is not its usual one.
TEST(NodeClustersLiesTest, AGhostIsNotJudged) {
  NodeClusters clusters(4, {});
  const UpdateWorld all{.cluster_of = {0, 1, 0, 1, 0, 1, 0, 0}}, rest{.cluster_of = {0, 1, 0, 1, 0, 1}};
  for (unsigned round = 0; round < 90; ++round) {
    SendRound(round < 5 || (round >= 40 && round < 43) ? all : rest, round, clusters);
  }
  EXPECT_EQ(clusters.Find().clusters, TrueClusters(rest, {0, 1}));
}

}  // namespace
}  // namespace tributary::learning
