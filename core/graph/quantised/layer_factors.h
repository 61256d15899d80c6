// The integers by which a layer's sums become its result.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "core/graph/quantised/quantised_layer.h"

namespace tributary::graph {

// What a layer's integers stand for.
struct LayerReals {
  std::vector<double> units;  // the real of a sum of 1; of each channel out, or one
  std::vector<double> bias;   // of each channel out; empty: none
};

// Fills in bias, factors and residual mantissas. `residual_scale`: the second operand's. Errors:
// InvalidArgument for sums or scales outside of what stays exact (kMostSum, kMostScaled).
absl::Status SetFactors(const LayerReals& reals, const Quantisation& from, const Quantisation& to,
                        double residual_scale, QuantisedLayer& layer);

}  // namespace tributary::graph
