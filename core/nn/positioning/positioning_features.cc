#include "core/nn/positioning/positioning_features.h"

#include <cmath>

namespace tributary::nn {

void AlignPhase(FeatureSpan features) {
  constexpr std::size_t kHalf = PositioningNetwork::kInputs / 2;
  float* real = features.data();
  float* imaginary = real + kHalf;
  const float magnitude = std::hypot(real[0], imaginary[0]);
  if (!(magnitude > 0.0f)) return;
  const float cosine = real[0] / magnitude;
  const float sine = -imaginary[0] / magnitude;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const float rotated = real[i] * cosine - imaginary[i] * sine;
    imaginary[i] = real[i] * sine + imaginary[i] * cosine;
    real[i] = rotated;
  }
  // Exactly real, so that aligning again changes nothing.
  real[0] = magnitude;
  imaginary[0] = 0.0f;
}

void Standardise(const PositioningNetwork& network, FeatureSpan features) {
  const float* mean = network.input_mean.data();
  const float* inverse_deviation = network.input_inverse_deviation.data();
  float* values = features.data();
  for (std::size_t i = 0; i < PositioningNetwork::kInputs; ++i) {
    values[i] = (values[i] - mean[i]) * inverse_deviation[i];
  }
}

}  // namespace tributary::nn
