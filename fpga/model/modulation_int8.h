// The golden model of the modulation block: INT8 weights with a scale per output channel, INT8 samples, words
// of 0 … 127 between layers, 24-bit sums. The cpu accelerator and the RTL benches must give its numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "fpga/model/modulation_network.h"

namespace tributary::fpga {

// With s = Σ weights · input (24 bits hold the largest: 512 · 127 · 128) and r = s · multiplier + offset, a
// hidden result is saturate(r >> 24, 0 … 127), one of the last layer saturate(r >> 16, 16 bits). Shifts round
// towards minus infinity; the offset contains the bias and half a unit, so a half is rounded up.
struct Int8Layer {
  static constexpr int kHiddenShift = 24;
  static constexpr int kLogitShift = 16;
  static constexpr int kMultiplierBits = 17;  // unsigned
  static constexpr int kOffsetBits = 46;

  ModulationShape shape;
  std::vector<std::int8_t> weights;      // [outputs × channels × taps], ±127
  std::vector<std::int32_t> multiplier;  // [outputs], 0 … 2^17 - 1
  std::vector<std::int64_t> offset;      // [outputs], within 46 bits
};

struct Int8Modulation {
  float input_gain = 0.0f;  // words per unit of I and Q
  float logit_unit = 0.0f;  // of a word of the last layer
  std::vector<Int8Layer> layers;
};

// Chooses the scales from the ranges and rounds the weights, ties to even. A range that is too small for the
// multipliers is enlarged. Errors: those of CheckTrained; InvalidArgument for a bias far beyond its range.
absl::StatusOr<Int8Modulation> MakeInt8Modulation(const TrainedModulation& network);

// One sample to its word: round(sample · gain), ties to even, within ±127.
std::int8_t QuantiseSample(const Int8Modulation& network, float sample);

// Words of one burst [256] to the words of the last layer [10], for a network of any shape.
std::vector<std::int32_t> RunInt8Layers(const Int8Modulation& network, std::span<const std::int8_t> burst);

// One burst [256] to its logits [10]. All ten are NaN if a sample is not finite.
void InferInt8(const Int8Modulation& network, std::span<const float> burst, std::span<float> logits);

}  // namespace tributary::fpga
