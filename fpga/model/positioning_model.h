// The golden model of the positioning network: one subject, one scalar operation after another. The cpu
// accelerator and the RTL test benches must give its numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/positioning/positioning_network.h"
#include "fpga/model/fixed_positioning.h"
#include "fpga/model/number_format.h"

namespace tributary::fpga {

// From raw channel features to the words of layer 1: phase alignment, standardisation, quantisation. Defined
// bit for bit (single precision, operations in the order written, nothing fused), so that every front end
// agrees.

// Multiplication by conj(z)/|z|: re' = re·cosine + im·sine, im' = im·cosine − re·sine.
struct PhaseRotation {
  float magnitude;  // of antenna 0, subcarrier 0
  float cosine;
  float sine;
};

// The rotation that brings antenna 0, subcarrier 0 (real part re, imaginary part im) to phase zero. None if
// its magnitude is zero. Applying it twice changes nothing: the square root of an exact square is exact.
PhaseRotation AlignmentOf(float re, float im);

// Conversion of standardised features to words: saturate(round(v), lowest, highest), ties to even. lowest ==
// highest leaves v as it is (float format).
struct PositioningInput {
  std::vector<float> mean;  // [1024]
  std::vector<float> gain;  // [1024], inverse deviation · 2^fraction
  float lowest = 0.0f;
  float highest = 0.0f;
};

// fraction and bits of the input word; bits = 0 for float.
PositioningInput MakePositioningInput(const nn::PositioningNetwork& network, int fraction, int bits);

// Rotates features (512 real parts, antenna-major and subcarrier-minor, then 512 imaginary parts) and
// standardises them: values [1024]. False if one of them is not finite; `values` is unspecified then.
bool StandardiseFeatures(const PositioningInput& input, std::span<const float> features,
                         std::span<float> values);

// One standardised value to its word.
std::int32_t QuantiseFeature(const PositioningInput& input, float value);

// Immutable after Create; any thread may call.
class PositioningModel {
 public:
  static constexpr std::size_t kInputs = nn::PositioningNetwork::kInputs;
  static constexpr std::size_t kOutputs = nn::PositioningNetwork::kWidths.back();

  // Errors: InvalidArgument for a network that does not fit.
  static absl::StatusOr<PositioningModel> Create(const nn::PositioningNetwork& network, NumberFormat format);

  NumberFormat format() const { return format_; }
  const PositioningInput& input() const { return input_; }
  const FixedPositioning& fixed() const { return fixed_; }  // empty for kFloat
  const nn::PositioningNetwork& network() const { return network_; }

  // Raw features [1024] of one subject to the network's outputs [5] before the head: mean x, y and raw l11,
  // l21, l22, m, in the panel's frame. All five are NaN if a feature is not finite (or so large that it
  // becomes infinite).
  void Infer(std::span<const float> features, std::span<float> outputs) const;

  // The integer part alone: words of layer 1 [1024] to the words of the last layer [5].
  void RunFixed(std::span<const std::int32_t> input, std::span<std::int32_t> output) const;

 private:
  PositioningModel() = default;
  void RunFloat(std::span<const float> input, std::span<float> output) const;

  NumberFormat format_ = NumberFormat::kFloat;
  nn::PositioningNetwork network_;
  PositioningInput input_;
  FixedPositioning fixed_;
};

// Single stages, for test benches of single blocks.
std::vector<std::int32_t> RunDense(const FixedDense& dense, std::span<const std::int32_t> input);
std::vector<std::int32_t> RunBatchNorm(const FixedBatchNorm& norm, std::span<const std::int32_t> input);

}  // namespace tributary::fpga
