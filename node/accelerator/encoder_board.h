// What a board computes while a node trains an encoder.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "node/accelerator/accelerator.h"
#include "node/accelerator/tensor_section.h"

namespace tributary::accelerator {

// Random views of images of 28 × 28 grey pixels. One thread, except for counters().
class ViewUnit {
 public:
  virtual ~ViewUnit() = default;

  // A view of each image [n × 28 × 28], as fpga::AugmentationSequence of this seed chooses them in order.
  // Errors: those of the device; then `views` is unspecified.
  virtual absl::Status MakeViews(std::span<const std::uint8_t> images, std::uint32_t seed,
                                 std::span<std::uint8_t> views) = 0;

  virtual Accelerator::Counters counters() const { return {}; }
};

// Null: the board does not compute that part.
struct EncoderBoard {
  std::unique_ptr<ViewUnit> views;
  std::unique_ptr<TensorTarget> tensors;  // for EncoderStages and EncoderGradients
};

}  // namespace tributary::accelerator
