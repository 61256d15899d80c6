// Converts raw channel features to the words of layer 1: phase alignment, standardisation, quantisation.
// Defined bit for bit (single precision, operations in the order written, nothing fused), so that every front
// end agrees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/nn/positioning/positioning_network.h"

namespace tributary::fpga {

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

}  // namespace tributary::fpga
