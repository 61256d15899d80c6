// The 3×3 convolution (cross-correlation) over Planes, with zeros around each image, and its gradients.
#pragma once

#include <cstddef>
#include <span>

#include "core/nn/planes.h"
#include "hwy/aligned_allocator.h"

namespace tributary {

// Weights are the caller's, row-major [outputs × inputs × 3 × 3]; tap (0, 0) meets the pixel above and left
// of the centre. Owns the packed weights: a product allocates nothing. One thread at a time.
//
// Direct instead of through Gemm: the shifted planes are the columns of im2col already, which would be nine
// times as large as the planes and packed once more.
class Convolution3x3 {
 public:
  static constexpr std::size_t kTaps = 9;

  Convolution3x3(std::size_t inputs, std::size_t outputs);

  std::size_t weight_count() const { return inputs_ * outputs_ * kTaps; }

  // y [outputs] = weights ∗ x [inputs]; both of one shape.
  void Forward(std::span<const float> weights, const Planes& x, Planes& y);

  // x_gradient [inputs] of y_gradient [outputs].
  void BackwardInput(std::span<const float> weights, const Planes& y_gradient, Planes& x_gradient);

  // weight_gradient += that of this batch.
  void BackwardWeights(const Planes& x, const Planes& y_gradient, std::span<float> weight_gradient) const;

 private:
  std::size_t inputs_;
  std::size_t outputs_;
  hwy::AlignedFreeUniquePtr<float[]> packed_;
};

}  // namespace tributary
