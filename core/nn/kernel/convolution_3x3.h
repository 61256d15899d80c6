// The 3×3 convolution (cross-correlation) over Planes, with zeros around each image, by its definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/nn/kernel/aligned_floats.h"
#include "core/nn/kernel/planes.h"

namespace tributary::nn {

// Weights are the caller's, row-major [outputs × inputs × 3 × 3]; tap (0, 0) meets the pixel above and left
// of the centre. Owns the packed weights of a group: a product allocates nothing. One thread at a time.
//
// Use it for few inputs, and where sums of integers must be exact; else Winograd3x3 is faster. It is direct
// instead of by Gemm: the shifted planes already are the columns of im2col, which would be nine times as
// large and packed once more.
class Convolution3x3 {
 public:
  static constexpr std::size_t kTaps = 9;
  // Outputs go in groups of this size: the next step finds a group in the second-level cache.
  static constexpr std::size_t kGroup = 8;

  Convolution3x3(std::size_t inputs, std::size_t outputs);

  static constexpr std::uint64_t Bytes(std::uint64_t inputs) {
    return sizeof(float) * inputs * kTaps * kGroup;
  }

  // y [outputs] = weights ∗ x [inputs], for the group of y from `first` on, a multiple of kGroup; both of one
  // shape.
  void Forward(std::span<const float> weights, const Planes& x, std::size_t first, Planes& y);

  // weight_gradient += that of this batch, for the group from `first` on; y_gradient has the group's
  // channels.
  void BackwardWeights(const Planes& x, const Planes& y_gradient, std::size_t first,
                       std::span<float> weight_gradient) const;

 private:
  std::size_t inputs_;
  std::size_t outputs_;
  AlignedFloats packed_;
};

}  // namespace tributary::nn
