// The steps between convolutions over sequences: ReLU, maximum and mean along time, with their gradients.
// Activations lie as in convolution_1d.h: [channels × length × 16], aligned.
#pragma once

#include <cstddef>

#include "core/nn/kernel/convolution_1d.h"

namespace tributary::nn {

struct SequenceShape {
  std::size_t channels = 0;
  std::size_t length = 0;

  constexpr std::size_t size() const { return channels * length; }
  friend bool operator==(const SequenceShape&, const SequenceShape&) = default;
};

// In place: max(x, 0).
void ClipSequences(SequenceShape shape, float* x);
// Clears the gradient where the clipped value is zero.
void ClipSequencesGradient(SequenceShape shape, const float* clipped, float* gradient);

// y [channels × length / window]: maxima over windows that do not overlap. An incomplete last one is left
// out.
void MaxPool(SequenceShape shape, std::size_t window, const float* x, float* y);
// Writes x_gradient. The first of equal maxima gets the gradient.
void MaxPoolGradient(SequenceShape shape, std::size_t window, const float* x, const float* y,
                     const float* y_gradient, float* x_gradient);

// y [channels × 1]: means over all time steps.
void MeanPool(SequenceShape shape, const float* x, float* y);
// Writes x_gradient.
void MeanPoolGradient(SequenceShape shape, const float* y_gradient, float* x_gradient);

}  // namespace tributary::nn
