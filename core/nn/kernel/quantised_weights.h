// Weights in the convolution unit's format: 12 bits, in units of 1/128 ([SSL], 5.1.2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace tributary::nn {

// Seven fraction bits.
inline constexpr float kKernelUnit = 1.0f / 128.0f;

// The largest word of a kernel over `inputs` channels: 2047, or less if a sum of 255 · |word| over all taps
// could exceed 2^24. Up to 2^24 float32 holds every integer, so float arithmetic equals the hardware's bit
// for bit.
constexpr int MaxKernelWord(std::size_t inputs) {
  return static_cast<int>(std::min<std::size_t>(2047, (std::size_t{1} << 24) / (255 * 9 * inputs)));
}

// Nearest multiples of kKernelUnit (ties to even), saturated at ±MaxKernelWord. Equal lengths.
inline void QuantiseKernels(std::span<const float> weights, std::size_t inputs, std::span<float> quantised) {
  const float limit = static_cast<float>(MaxKernelWord(inputs));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    quantised[i] = std::clamp(std::nearbyint(weights[i] / kKernelUnit), -limit, limit) * kKernelUnit;
  }
}

}  // namespace tributary::nn
