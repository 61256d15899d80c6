// Puts QuantizeLinear and DequantizeLinear around clusters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/graph/quantise/clusters.h"
#include "core/graph/quantise/model_edit.h"
#include "core/graph/quantised/quantised_layer.h"

namespace tributary::graph {

// `grids`: of each operand and end. Names of values stay: what nodes and outputs read by the name of a
// cluster's end is its dequantised value. The dequantised values of operands that no cluster gives have names
// of their own, which are returned by the operand's. Errors: InvalidArgument for weights that are not finite,
// naming the node.
absl::StatusOr<std::map<std::string, std::string>> WriteQdq(const std::vector<Cluster>& clusters,
                                                            const std::map<std::string, Quantisation>& grids,
                                                            ModelEdit& edit);

}  // namespace tributary::graph
