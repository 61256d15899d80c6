// Rectified linear unit, in place, over any layout.
#pragma once

#include <cstddef>
#include <span>

namespace tributary::nn {

// values = max(values, 0); NaN becomes 0.
inline void ReluForward(std::span<float> values) {
  for (float& value : values) value = value > 0.0f ? value : 0.0f;
}

// Clears the gradient where the activation (the forward result) is zero. Equal lengths.
inline void ReluBackward(std::span<const float> activation, std::span<float> gradient) {
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = activation[i] > 0.0f ? gradient[i] : 0.0f;
}

}  // namespace tributary::nn
