// What a search for layers asks a graph: constants, who gives and who reads a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/graph/node.h"
#include "core/graph/operation.h"
#include "core/graph/quantised/quantised_layer.h"

namespace tributary::graph {

// Less their zero points, which int8 can hold.
struct IntegerWeights {
  Shape shape;
  std::vector<std::int8_t> values;
  std::vector<double> scales;  // of each channel out, or one
};

// Errors say why a node is no part of a layer. Graph and specs outlive it, unchanged.
class GraphLookup {
 public:
  static constexpr std::size_t kNoNode = std::numeric_limits<std::size_t>::max();

  GraphLookup(const Graph& graph, const std::deque<Spec>& specs);

  const Array* ConstantAt(int value) const;  // null: it is none
  bool IsConstant(int value) const { return ConstantAt(value) != nullptr; }
  std::size_t ProducerOf(int value) const { return producers_[Size(value)]; }
  // Errors: InvalidArgument if the value has several readers, or is an output.
  absl::Status ExpectOnlyReader(int value) const;
  NodeContext ContextFor(const Node& node) const;

  // What two inputs of a node, a scale and behind it a zero point of that type, say for a whole tensor.
  absl::StatusOr<Quantisation> QuantisationAt(const Node& node, std::size_t scale, ElementType type) const;
  // The integers behind a dequantised constant; `axis`: of the channels out.
  absl::StatusOr<IntegerWeights> WeightsOf(int value, std::int64_t axis) const;
  // The same of three inputs of a node: integers, scales, zero points.
  absl::StatusOr<IntegerWeights> WeightsAt(const Node& node, std::size_t first, std::int64_t axis) const;

 private:
  bool Has(const Node& node, std::size_t input) const {
    return node.inputs.size() > input && node.inputs[input] != kAbsent;
  }

  const Graph& graph_;
  const std::deque<Spec>& specs_;
  std::vector<std::size_t> producers_;
  std::vector<int> readers_;  // of each value
  std::vector<bool> is_output_;
};

}  // namespace tributary::graph
