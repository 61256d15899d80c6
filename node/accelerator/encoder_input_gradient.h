// The gradient of a 3×3 convolution's inputs as a program of the tensor unit, in bfloat16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/kernel/planes.h"
#include "node/accelerator/encoder_weight_gradient.h"
#include "node/accelerator/tensor_section.h"

namespace tributary::accelerator {

// The convolution of y's gradient with the same weights, turned by 180 degrees. A run computes some images,
// which lie below each other with a row of zeros in between, so that their weights arrive once. One thread.
class EncoderInputGradient {
 public:
  // Why the unit cannot; empty: it can.
  static std::string WhyNot(const ConvolutionShape& shape, const fpga::TensorUnitSize& unit);

  // Errors: InvalidArgument with WhyNot's reason; those of TensorTarget::MakeJob. The target outlives it.
  static absl::StatusOr<std::unique_ptr<EncoderInputGradient>> Create(const ConvolutionShape& shape,
                                                                      std::size_t batch,
                                                                      const TensorTarget& target);

  // Bytes that it holds at most, on a board too, where the unit can.
  static std::uint64_t Bytes(const ConvolutionShape& shape, std::size_t batch, const TensorTarget& target);

  // Writes every pixel of x_gradient. Weights [outputs × inputs × 3 × 3] have 8 significant bits, or are
  // rounded to them, as gradients are. They are loaded again if they are others than the last time. Errors:
  // those of TensorJob; then x_gradient is unspecified.
  absl::Status Compute(std::span<const float> weights, const nn::Planes& y_gradient, nn::Planes& x_gradient);

  // Clock cycles of the last Compute.
  std::uint64_t counted_cycles() const { return counted_cycles_; }

 private:
  EncoderInputGradient(const ConvolutionShape& shape, std::size_t batch, const fpga::TensorUnitSize& unit);

  std::size_t Pixels() const;  // of a run, the rows of zeros included
  fpga::TensorBuffers Buffers() const;
  absl::StatusOr<std::vector<std::uint64_t>> Program(std::span<const float> weights) const;

  const ConvolutionShape shape_;
  const std::size_t batch_;
  const fpga::TensorUnitSize unit_;
  const std::size_t run_images_;  // images of a run
  std::vector<float> weights_;    // that the unit has; empty: unknown
  std::unique_ptr<TensorJob> job_;
  std::uint64_t counted_cycles_ = 0;
};

}  // namespace tributary::accelerator
