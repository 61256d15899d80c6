// The 3×3 convolution over Planes by Winograd's F(2×2, 3×3) (Lavin & Gray, "Fast Algorithms for Convolutional
// Neural Networks", 2016): 16 products give four pixels; the direct form needs 36.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/nn/kernel/aligned_floats.h"
#include "core/nn/kernel/planes.h"

namespace tributary::nn {

// Weights as for Convolution3x3. Results are equal to its up to rounding: sums of integers are not exact
// here. Owns the transformed weights and a block of transformed tiles, which stays in the second-level cache:
// a product allocates nothing. One thread at a time.
class Winograd3x3 {
 public:
  Winograd3x3(std::size_t inputs, std::size_t outputs, PlaneShape shape);

  static std::uint64_t Bytes(std::size_t inputs, std::size_t outputs, PlaneShape shape);

  // y [outputs] = weights ∗ x [inputs]; both of the constructor's shape.
  void Forward(std::span<const float> weights, const Planes& x, Planes& y);

  // x_gradient [inputs] of y_gradient [outputs].
  void BackwardInput(std::span<const float> weights, const Planes& y_gradient, Planes& x_gradient);

  // weight_gradient += that of this batch.
  void BackwardWeights(const Planes& x, const Planes& y_gradient, std::span<float> weight_gradient);

 private:
  std::size_t inputs_;
  std::size_t outputs_;
  AlignedFloats kernels_;  // transformed weights, or their gradient
  AlignedFloats source_;   // transformed tiles of what comes in
  AlignedFloats result_;   // and of what goes out
};

}  // namespace tributary::nn
