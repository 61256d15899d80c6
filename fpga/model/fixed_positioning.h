// The positioning network in fixed point: the words in the hardware's memories.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/positioning/positioning_network.h"
#include "fpga/model/number_format.h"

namespace tributary::fpga {

// result = saturate(round_shift(max(Σ weights · input, 0 if rectified), shift), result_bits). The weight
// scale keeps every accumulator within accumulator_bits, whatever the input.
struct FixedDense {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  int weight_bits =
      0;  // ±(2^(bits-1) - 1): the lowest word is left out so that two INT8 products can share a DSP
  int weight_fraction = 0;
  int accumulator_bits = 0;
  int shift = 0;
  int result_bits = 0;
  bool rectified = false;
  std::vector<std::int32_t> weights;  // [outputs × inputs]
};

// result = saturate(round_shift(input · scale + offset, shift), result_bits), per channel.
struct FixedBatchNorm {
  int scale_bits = 0;
  int shift = 0;
  int result_bits = 0;
  std::vector<std::int32_t> scale;
  std::vector<std::int64_t>
      offset;  // at the product's fraction; below 2^(2·scale_bits-3): the sum fits 2·scale_bits
};

// From features to words: saturate(round((feature - mean) · gain), lowest, highest), ties to even.
struct PositioningInput {
  std::vector<float> mean;  // [1024]
  std::vector<float> gain;  // [1024], inverse deviation · 2^fraction
  float lowest = 0.0f;
  float highest = 0.0f;
};

struct FixedPositioning {
  static constexpr std::size_t kInputs = nn::PositioningNetwork::kInputs;
  static constexpr std::size_t kOutputs = nn::PositioningNetwork::kWidths.back();

  PositioningInput input;
  int input_bits = 0;
  std::array<FixedDense, 4> dense;
  FixedBatchNorm batch_norm;  // after the first layer
  int output_fraction = 0;
};

// Chooses the power-of-two scales from the network's activation ranges and weights, and rounds the weights.
// The network is one that nn::PositioningFromTensors accepts. Errors: InvalidArgument for kFloat, ranges that
// are not positive, and weights too small for their results.
absl::StatusOr<FixedPositioning> MakeFixedPositioning(const nn::PositioningNetwork& network,
                                                      NumberFormat format);

}  // namespace tributary::fpga
