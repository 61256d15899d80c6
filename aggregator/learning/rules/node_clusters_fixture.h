// Simulated nodes whose updates fit together in clusters.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "aggregator/learning/rules/node_clusters.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary::learning {

inline constexpr std::size_t kUpdateElements = 3'000;

using UpdateValues = std::vector<float>;

inline UpdateValues RandomUpdate(std::uint64_t key, std::uint64_t index) {
  nn::RandomStream random = nn::RandomStream::Of(key, index);
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

inline std::string NodeName(std::size_t node) { return fmt::format("node-{:03}", node); }

using ChangeUpdate = std::function<void(std::size_t node, UpdateValues& update)>;

inline void SendRound(const UpdateWorld& world, std::uint64_t round, NodeClusters& clusters,
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

inline FoundClusters FindIn(const UpdateWorld& world, unsigned rounds, const ChangeUpdate& change = {},
                            std::size_t most = 8) {
  NodeClusters clusters(most, {});
  for (unsigned round = 0; round < rounds; ++round) SendRound(world, round, clusters, change);
  return clusters.Find();
}

// The nodes of each cluster, the largest cluster first.
inline std::vector<std::vector<std::string>> TrueClusters(const UpdateWorld& world,
                                                          const std::vector<std::size_t>& order) {
  std::vector<std::vector<std::string>> truth(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t node = 0; node < world.cluster_of.size(); ++node) {
      if (world.cluster_of[node] == order[i]) truth[i].push_back(NodeName(node));
    }
  }
  return truth;
}

}  // namespace tributary::learning
