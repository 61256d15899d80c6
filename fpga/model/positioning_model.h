// The golden model of the positioning network: its words in fixed point, and one scalar operation after
// another. The cpu accelerator and the RTL test benches must give its numbers. Single precision and integers,
// operations in the order written, nothing fused: defined bit for bit, so that every front end agrees.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/positioning/phase_alignment.h"
#include "core/nn/positioning/positioning_network.h"
#include "fpga/model/number_format.h"

namespace tributary::fpga {

// result = saturate(round_shift(max(Σ weights · input, 0 if rectified), shift), result_bits). The weight
// scale keeps every accumulator within accumulator_bits, whatever the input.
struct FixedDense {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  // ±(2^(bits-1) - 1): the lowest word is left out so that two INT8 products can share a DSP.
  int weight_bits = 0;
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
  // At the product's fraction; below 2^(2·scale_bits-3): the sum fits 2·scale_bits.
  std::vector<std::int64_t> offset;
};

// From features to words: saturate(round((feature - mean) · gain), lowest, highest), ties to even.
struct PositioningInput {
  nn::PhaseAlignment alignment = nn::PhaseAlignment::kFirstAntenna;
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
// The network is one that nn::DecodePositioning accepts. Errors: InvalidArgument for kFloat, ranges that
// are not positive, and weights too small for their results.
absl::StatusOr<FixedPositioning> MakeFixedPositioning(const nn::PositioningNetwork& network,
                                                      NumberFormat format);

// Multiplication by conj(z)/|z|: re' = re·cosine + im·sine, im' = im·cosine − re·sine.
struct PhaseRotation {
  float magnitude;  // of the reference
  float cosine;
  float sine;
};

// The rotation that brings the reference (nn::PhaseReference) to phase zero. None if its magnitude is zero.
// Applying that of the first antenna twice changes nothing: the square root of an exact square is exact.
PhaseRotation AlignmentOf(std::complex<float> reference);

// Rotates features (512 real parts, antenna-major and subcarrier-minor, then 512 imaginary parts) and
// standardises them: values [1024]. False if one of them is not finite; `values` is unspecified then.
bool StandardiseFeatures(const PositioningInput& input, std::span<const float> features,
                         std::span<float> values);

// One standardised value to its word.
std::int32_t QuantiseFeature(const PositioningInput& input, float value);

// Words of layer 1 to the words of the last layer, for networks of any widths.
std::vector<std::int32_t> RunLayers(const FixedPositioning& network, std::span<const std::int32_t> input);

// Raw features [1024] of one subject to the network's outputs [5] before the head: mean x, y and raw l11,
// l21, l22, m, in the panel's frame. All five are NaN if a feature is not finite (or so large that it becomes
// infinite).
void InferPositioning(const FixedPositioning& network, std::span<const float> features,
                      std::span<float> outputs);

}  // namespace tributary::fpga
