#include "fpga/model/positioning_input.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "fpga/model/fixed_point.h"

namespace tributary::fpga {

PhaseRotation AlignmentOf(float re, float im) {
  const float magnitude = std::sqrt(re * re + im * im);
  if (magnitude == 0.0f) return {.magnitude = re, .cosine = 1.0f, .sine = 0.0f};
  return {.magnitude = magnitude, .cosine = re / magnitude, .sine = im / magnitude};
}

PositioningInput MakePositioningInput(const nn::PositioningNetwork& network, int fraction, int bits) {
  PositioningInput input{.mean = network.input_mean, .gain = network.input_inverse_deviation};
  for (float& gain : input.gain) gain = std::ldexp(gain, fraction);
  if (bits == 0) return input;
  input.lowest = static_cast<float>(MinWord(bits));
  // 2^31 - 1 is no float; the next smaller one keeps the conversion in range.
  input.highest = bits == 32 ? 2147483520.0f : static_cast<float>(MaxWord(bits));
  return input;
}

bool StandardiseFeatures(const PositioningInput& input, std::span<const float> features,
                         std::span<float> values) {
  constexpr std::size_t kHalf = nn::PositioningNetwork::kInputs / 2;
  const PhaseRotation rotation = AlignmentOf(features[0], features[kHalf]);
  bool finite = true;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const float re = features[i];
    const float im = features[kHalf + i];
    const float aligned_re = i == 0 ? rotation.magnitude : re * rotation.cosine + im * rotation.sine;
    const float aligned_im = i == 0 ? 0.0f : im * rotation.cosine - re * rotation.sine;
    values[i] = (aligned_re - input.mean[i]) * input.gain[i];
    values[kHalf + i] = (aligned_im - input.mean[kHalf + i]) * input.gain[kHalf + i];
    finite = finite && std::isfinite(values[i]) && std::isfinite(values[kHalf + i]);
  }
  return finite;
}

std::int32_t QuantiseFeature(const PositioningInput& input, float value) {
  return static_cast<std::int32_t>(std::nearbyint(std::clamp(value, input.lowest, input.highest)));
}

}  // namespace tributary::fpga
