// A network for modulation recognition as trained: a chain of convolutions along time, from which the integer
// models are made. A dense layer is a convolution whose kernel covers all positions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace tributary::fpga {

inline constexpr std::size_t kModulationChannels = 2;  // I and Q
inline constexpr std::size_t kModulationSamples = 128;
inline constexpr std::size_t kModulationInputs = kModulationChannels * kModulationSamples;
inline constexpr std::size_t kModulationClasses = 10;

// One layer: every kernel covers all channels. No padding, stride 1.
struct ModulationShape {
  std::size_t channels = 0;   // of the input
  std::size_t positions = 0;  // of the input, along time
  std::size_t taps = 0;       // of a kernel, along time
  std::size_t outputs = 0;    // channels of the result
  bool pool = false;          // keeps the larger of two neighbours along time; an odd last one is dropped

  std::size_t terms() const { return channels * taps; }  // products of a sum
  std::size_t convolved() const { return positions - taps + 1; }
  std::size_t results() const { return pool ? convolved() / 2 : convolved(); }  // per channel
};

struct TrainedLayer {
  ModulationShape shape;
  std::vector<float> weights;  // [outputs × channels × taps]
  std::vector<float> bias;     // [outputs], or empty: none
  float range = 0.0f;          // the largest magnitude of its results that a word must hold
};

// Rectified after every layer but the last.
struct TrainedModulation {
  float input_range = 0.0f;  // the largest |I| or |Q| that a word must hold
  std::vector<TrainedLayer> layers;
};

// Limits of every integer model and of the logic: 1 to 8 layers from 2 × 128 samples to 10 classes; 64 taps,
// 128 channels, 512 products a sum. Two neighbouring layers have 480 words of 16 positions together, their
// channels rounded up to a multiple of 16 or 24, whichever is larger.
// Errors: InvalidArgument for a network outside them, layers that do not fit each other, weights that are not
// finite, and ranges that are not positive.
absl::Status CheckTrained(const TrainedModulation& network);

// The table 4 network of [MOD]: 32 kernels of 2×8, pooled, 16 of 1×16, pooled, then 64, 32 and 10 outputs.
// All weights are zero, and the convolutions have biases.
TrainedModulation EmptyTable4();

// The logits [10] of one burst [256] (I, then Q) in single precision. The network is one that CheckTrained
// accepts, whatever its ranges.
std::vector<float> RunTrained(const TrainedModulation& network, std::span<const float> burst);

// Sets every range to the largest magnitude over these bursts [n × 256]. A layer whose results are all zero
// gets 1. Errors: InvalidArgument for no burst and for samples that are not finite.
absl::Status Calibrate(std::span<const float> bursts, TrainedModulation& network);

}  // namespace tributary::fpga
