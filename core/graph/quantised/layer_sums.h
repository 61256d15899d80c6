// What the nodes of a quantised graph sum.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "core/graph/node.h"
#include "core/graph/operation.h"
#include "core/graph/quantised/graph_lookup.h"
#include "core/graph/quantised/layer_factors.h"
#include "core/graph/quantised/quantised_layer.h"

namespace tributary::graph {

// A layer before it is known which integers its result becomes.
struct SumsFound {
  QuantisedLayer layer;
  LayerReals reals;
  std::vector<std::size_t> nodes;  // the first gives the sums
};

// Fills in what a node sums, without the places of tensors. Errors say why no layer can stand for the node.
// Lookup and specs outlive it.
class SumsReader {
 public:
  SumsReader(const GraphLookup& lookup, const std::deque<Spec>& specs) : lookup_(lookup), specs_(specs) {}

  // Conv; Gemm and MatMul as convolutions of images of one pixel. `input`: the operand.
  absl::Status ReadConvolution(const Node& node, const QuantisedTensor& input, SumsFound& sums) const;
  absl::Status ReadMatrix(const Node& node, const QuantisedTensor& input, SumsFound& sums) const;
  // The same for ONNX's operators of integers: QLinearConv and QLinearMatMul.
  absl::Status ReadIntegerConvolution(const Node& node, const QuantisedTensor& input, SumsFound& sums) const;
  absl::Status ReadIntegerMatrix(const Node& node, const QuantisedTensor& input, SumsFound& sums) const;

  absl::Status ReadPool(const Node& node, const QuantisedTensor& input, SumsFound& sums) const;
  absl::Status ReadMove(const Node& node, SumsFound& sums) const;
  // Adds beta · a constant of one element or of `channels`.
  absl::Status ReadBias(int value, std::size_t channels, double beta, SumsFound& sums) const;

 private:
  absl::Status SetConvolution(const Node& node, const IntegerWeights& weights, const QuantisedTensor& input,
                              SumsFound& sums) const;
  // `turned`: the weights are [outputs × inputs].
  void SetMatrix(const IntegerWeights& weights, bool turned, const QuantisedTensor& input,
                 SumsFound& sums) const;
  absl::Status ExpectMatrices(int left, int right) const;

  const GraphLookup& lookup_;
  const std::deque<Spec>& specs_;
};

}  // namespace tributary::graph
