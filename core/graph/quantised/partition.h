// Divides a graph between float32 and integers, and between who computes these.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "core/graph/node.h"
#include "core/graph/quantised/layer_finder.h"
#include "core/graph/quantised/quantised_layer.h"

namespace tributary::graph {

// Runs after the parts before it: one node, or layers that one target computes.
struct Part {
  static constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

  std::size_t node = kNoNode;
  std::size_t target = 0;
  std::vector<std::size_t> layers = {};  // places in FoundLayers::layers
};

struct Partition {
  std::vector<Part> parts;
  std::vector<bool> covered;  // of each node: layers stand for it, and it does not run itself
  std::map<int, std::vector<std::size_t>> readers;  // of a value or tensor: parts, in their order
};

// `runs`: whether a node of the graph is left to a run at all. `target_of`: of a layer. Targets are kept for
// as long as they have work, so that data changes hands seldom.
Partition Divide(const Graph& graph, const FoundLayers& found, const std::vector<bool>& runs,
                 const std::function<std::size_t(const FoundLayer&)>& target_of);

struct DividedSection {
  QuantisedSection section;
  std::vector<int> reads, writes;  // places of FoundLayers::tensors behind inputs and outputs
};

// The section of a part that has layers, by its place.
DividedSection SectionOf(const Graph& graph, const FoundLayers& found, const Partition& partition,
                         std::size_t part);

}  // namespace tributary::graph
