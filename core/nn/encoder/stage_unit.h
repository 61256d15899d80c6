// The convolutions of a quantised encoder, computed elsewhere than on this processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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
};

}  // namespace tributary::nn
