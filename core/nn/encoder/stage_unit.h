// The convolutions of a quantised encoder and their gradients, computed elsewhere than on this processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/nn/kernel/planes.h"

namespace tributary::nn {

// One thread at a time.
class StageUnit {
 public:
  virtual ~StageUnit() = default;

  // Computes the stages of a batch: each convolution's sums are rounded and clipped to 8 bits, and the 2×2
  // maxima of that are the next stage's input. `images`: [batch × input channels × side × side]. `kernels`:
  // of each stage [outputs × inputs × 3 × 3] in units of kKernelUnit, one stage behind the other. False: it
  // cannot, and the processor computes the same.
  virtual bool Compute(std::span<const std::uint8_t> images, std::span<const std::int8_t> kernels) = 0;

  // What the stage's convolution gave, before the maxima: [batch × outputs × side × side] in units of
  // kPixelUnit. Until the next Compute.
  virtual std::span<const std::uint8_t> Result(std::size_t stage) const = 0;

  // The backward pass, as Convolution3x3 and Winograd3x3 have it; gradients may be rounded to bfloat16, and
  // sums are float32. False: it cannot, and the processor computes them; nothing was added.
  //
  // weight_gradient [outputs × inputs × 3 × 3] += that of this batch, for the first outputs of y_gradient.
  virtual bool AddWeightGradient(std::size_t stage, const Planes& x, const Planes& y_gradient,
                                 std::span<float> weight_gradient) = 0;
  // Writes every pixel of x_gradient. Weights are multiples of kKernelUnit.
  virtual bool ComputeInputGradient(std::size_t stage, std::span<const float> weights,
                                    const Planes& y_gradient, Planes& x_gradient) = 0;
};

}  // namespace tributary::nn
