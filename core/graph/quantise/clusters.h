// What of a float graph is quantised together.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/graph/quantise/model_edit.h"

namespace tributary::graph {

// A node that becomes a quantised layer, with the bias and the activations that follow it.
struct Cluster {
  int node = ModelEdit::kNoNode;
  std::string end;                    // the value whose integers are the layer's result
  std::vector<std::string> operands;  // values that are read as integers
  bool has_weights = false;           // in input 1; a bias in input 2
  bool keeps_grid = false;            // the result has the operand's scale: pools of largest values, moves
};

// In the graph's order. `shapes`: of values, if they are known by now; a cluster whose operands or result
// could not be a layer's is left out then.
std::vector<Cluster> FindClusters(const ModelEdit& edit, const std::map<std::string, Shape>& shapes);

// The dimension of the weights that counts channels out.
std::int64_t ChannelAxis(const onnx::NodeProto& node);

}  // namespace tributary::graph
