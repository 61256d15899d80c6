// The part of a node's samples that judges instead of training.
#pragma once

#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "core/nn/kernel/random_stream.h"
#include "node/learner/node_seed.h"

namespace tributary::learner {

// Deals out samples that have count() and Append: `part` of them, 0 to 1, rounded down, to `held_out`, the
// others to `trained_on`. The node's name decides which, so that a restart holds out the same.
template <class Samples>
void HoldOut(const Samples& all, const std::string& node, double part, Samples& held_out,
             Samples& trained_on) {
  std::vector<std::size_t> order(all.count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  nn::RandomStream(NodeSeed(0, node)).Shuffle(order);
  const auto judged = static_cast<std::size_t>(part * static_cast<double>(order.size()));
  for (std::size_t i = 0; i < order.size(); ++i) {
    (i < judged ? held_out : trained_on).Append(all, order[i]);
  }
}

}  // namespace tributary::learner
