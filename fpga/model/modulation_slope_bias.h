// The arithmetic of [MOD], sections 3.4 and 4.2: weights are stored in 8 bits with a slope and a bias per
// layer and converted once; all operations have 25-bit fixed-point numbers. The report does not say where the
// binary point is: here every number is Q(10.15), as fine as its Q(1.15) samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "fpga/model/modulation_network.h"

namespace tributary::fpga {

inline constexpr int kSlopeBiasBits = 25;
inline constexpr int kSlopeBiasFraction = 15;

// A weight's value is stored · slope + bias. A product drops its bits below 2^-15; a sum saturates at 25 bits
// after every addition, from the layer's bias on.
struct SlopeBiasLayer {
  ModulationShape shape;
  std::vector<std::int8_t> stored;    // [outputs × channels × taps], -128 … 127
  std::int32_t slope = 0;             // fraction 24, 25 bits: the shifts and adds of the loader
  std::int32_t bias = 0;              // fraction 15
  std::vector<std::int32_t> weights;  // as the loader converts them
  std::vector<std::int32_t> offset;   // [outputs], fraction 15: the bias of a convolution
};

struct SlopeBiasModulation {
  std::vector<SlopeBiasLayer> layers;
};

// Equations 12 and 13 of [MOD]. Errors: those of CheckTrained; InvalidArgument for weights whose span the
// slope's 25 bits do not hold, and for weights or biases beyond ±512.
absl::StatusOr<SlopeBiasModulation> MakeSlopeBiasModulation(const TrainedModulation& network);

// One burst [256] to its logits [10]; samples saturate at ±512. All ten are NaN if a sample is not finite.
void InferSlopeBias(const SlopeBiasModulation& network, std::span<const float> burst,
                    std::span<float> logits);

}  // namespace tributary::fpga
