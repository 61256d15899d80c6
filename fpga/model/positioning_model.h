// The golden model of the positioning network: one subject, one scalar operation after another. The cpu
// accelerator and the RTL test benches must give its numbers. Single precision and integers, operations in
// the order written, nothing fused: defined bit for bit, so that every front end agrees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fpga/model/fixed_positioning.h"

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

// Rotates features (512 real parts, antenna-major and subcarrier-minor, then 512 imaginary parts) and
// standardises them: values [1024]. False if one of them is not finite; `values` is unspecified then.
bool StandardiseFeatures(const PositioningInput& input, std::span<const float> features,
                         std::span<float> values);

// One standardised value to its word.
std::int32_t QuantiseFeature(const PositioningInput& input, float value);

std::vector<std::int32_t> RunDense(const FixedDense& dense, std::span<const std::int32_t> input);
std::vector<std::int32_t> RunBatchNorm(const FixedBatchNorm& norm, std::span<const std::int32_t> input);

// Words of layer 1 to the words of the last layer, for networks of any widths.
std::vector<std::int32_t> RunLayers(const FixedPositioning& network, std::span<const std::int32_t> input);

// Raw features [1024] of one subject to the network's outputs [5] before the head: mean x, y and raw l11,
// l21, l22, m, in the panel's frame. All five are NaN if a feature is not finite (or so large that it becomes
// infinite).
void InferPositioning(const FixedPositioning& network, std::span<const float> features,
                      std::span<float> outputs);

}  // namespace tributary::fpga
