// Fully connected layer without bias and the rectified linear unit. Activations are feature-major:
// [features × batch].
#pragma once

#include <cstddef>
#include <span>

#include "core/nn/kernel/gemm.h"

namespace tributary::nn {

// Weights and gradients are the caller's, row-major [outputs × inputs].
struct Dense {
  std::size_t inputs;
  std::size_t outputs;

  constexpr std::size_t weight_count() const { return inputs * outputs; }

  // y [outputs × x.columns] = weights · x; x is [inputs × batch] with any strides, so row-major samples need
  // no transposition.
  void Forward(Gemm& gemm, const float* weights, const MatrixView& x, float* y) const {
    gemm.Multiply(RowMajor(weights, outputs, inputs), x, y);
  }

  // weight_gradient = y_gradient · xᵀ, summed over the batch.
  void BackwardWeights(Gemm& gemm, const MatrixView& x, const float* y_gradient,
                       float* weight_gradient) const {
    gemm.Multiply(RowMajor(y_gradient, outputs, x.columns), Transposed(x), weight_gradient);
  }

  // x_gradient [inputs × batch] = weightsᵀ · y_gradient.
  void BackwardInput(Gemm& gemm, const float* weights, const float* y_gradient, std::size_t batch,
                     float* x_gradient) const {
    gemm.Multiply(Transposed(RowMajor(weights, outputs, inputs)), RowMajor(y_gradient, outputs, batch),
                  x_gradient);
  }
};

// In place: values = max(values, 0); NaN becomes 0.
inline void ReluForward(std::span<float> values) {
  for (float& value : values) value = value > 0.0f ? value : 0.0f;
}

// Clears the gradient where the activation (the forward result) is zero. Equal lengths.
inline void ReluBackward(std::span<const float> activation, std::span<float> gradient) {
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = activation[i] > 0.0f ? gradient[i] : 0.0f;
}

}  // namespace tributary::nn
