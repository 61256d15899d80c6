// Finds the layers of a quantised graph, in ONNX's QDQ form or with its operators of integers, that can be
// computed in integers.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/graph/node.h"
#include "core/graph/quantised/quantised_layer.h"

namespace tributary::graph {

struct FoundLayer {
  QuantisedLayer layer;            // its tensors are places of FoundLayers::tensors
  std::vector<std::size_t> nodes;  // of the graph, that it takes the place of; the first gives the sums
  bool implied = false;            // no QuantizeLinear ends it: its result is no value of the graph
};

struct FoundLayers {
  std::vector<FoundLayer> layers;  // in an order in which they can run
  // By their place in Graph::values; the results of implied layers lie behind these.
  std::map<int, QuantisedTensor> tensors;
  // By node of the graph: why no layer stands for it; empty if one does, or if it never could.
  std::vector<std::string> reasons;
};

// `specs`: of each value. A layer begins with the DequantizeLinear of its operands, whose integers it reads,
// and ends with a QuantizeLinear, whose result it gives within one step of what the graph gives in floats:
// sums are exact, and rounded once. A pool of largest values or a move without a QuantizeLinear of its own
// keeps the grid of its operand.
//
// Taken between them: Conv, Gemm and MatMul with constant int8 weights and a constant bias, pools, Add of two
// operands or of an operand to one of these, Reshape and what else moves elements, then Relu and Clip.
//
// QLinearConv and QLinearMatMul are layers, too, and so are pools of largest values and moves between the
// integers of layers. Their results are within one step of what their operators give.
FoundLayers FindQuantisedLayers(const Graph& graph, const std::deque<Spec>& specs);

}  // namespace tributary::graph
