// Convolutions and products in floats, as an accelerator takes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/graph/operation.h"
#include "core/graph/window.h"

namespace tributary::graph {

// What a node gives for each image of its first input: bias + Σ weight · input over window and channels.
struct FloatLayer {
  std::string name = {};                             // of the node
  std::int64_t images = 0, inputs = 0, outputs = 0;  // channels
  Window window = {};                                // two spatial dimensions
  std::vector<float> weights = {};                   // [outputs × inputs × taps]
  std::vector<float> bias = {};                      // of each output
};

// Whether the operation can be one.
bool MayBeFloatLayer(const std::string& operation);

// Conv; Gemm and MatMul with a constant matrix as convolutions of images of one pixel, the rows of their left
// operand. Errors: InvalidArgument says why the node is none.
absl::StatusOr<FloatLayer> FloatLayerOf(const NodeContext& context);

}  // namespace tributary::graph
