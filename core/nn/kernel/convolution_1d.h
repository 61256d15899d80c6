// The one-dimensional convolution (cross-correlation) without padding, forward and backward.
#pragma once

#include <cstddef>
#include <span>

#include "core/nn/kernel/aligned_floats.h"

namespace tributary::nn {

// Sequences are computed sixteen at a time and lie side by side in each time step: [channels × length × 16].
// A layer then works on whole vectors at every stride and has no row ends. The longest vector has 16 floats.
inline constexpr std::size_t kSequenceLanes = 16;

struct Convolution1dShape {
  std::size_t inputs = 1;   // channels
  std::size_t outputs = 1;  // channels
  std::size_t length = 1;   // of the input, at least the kernel's
  std::size_t kernel = 1;
  std::size_t stride = 1;
  std::size_t groups = 1;  // divides inputs and outputs; as many as inputs: depthwise

  constexpr std::size_t output_length() const { return (length - kernel) / stride + 1; }
  constexpr std::size_t group_inputs() const { return inputs / groups; }
  constexpr std::size_t group_outputs() const { return outputs / groups; }
  constexpr std::size_t weights() const { return outputs * group_inputs() * kernel; }
};

// Owns the packed weights and a buffer: only the constructor allocates. One thread at a time. Activations are
// aligned as AllocateFloats aligns them.
class Convolution1d {
 public:
  explicit Convolution1d(const Convolution1dShape& shape);

  const Convolution1dShape& shape() const { return shape_; }

  // Row-major [outputs × inputs / groups × kernel]; bias [outputs], or empty for none. In use until the next
  // call.
  void SetWeights(std::span<const float> weights, std::span<const float> bias);

  // y [outputs × output length] = weights ∗ x [inputs × length] + bias.
  void Forward(const float* x, float* y) const;

  // weight_gradient += that of these sequences; the same for bias_gradient unless it is empty.
  void BackwardWeights(const float* x, const float* y_gradient, std::span<float> weight_gradient,
                       std::span<float> bias_gradient) const;

  // Writes the gradient with respect to x.
  void BackwardInput(const float* y_gradient, float* x_gradient);

 private:
  bool Pointwise() const { return shape_.kernel == 1 && shape_.stride == 1; }

  Convolution1dShape shape_;
  // The gradient of x is the convolution of y's gradient, spread by the stride and with kernel - 1 zeros
  // around it, with the reversed kernels.
  Convolution1dShape transposed_;
  AlignedFloats packed_, packed_bias_;
  AlignedFloats packed_transposed_, no_bias_;
  AlignedFloats spread_gradient_;  // unless Pointwise
};

}  // namespace tributary::nn
