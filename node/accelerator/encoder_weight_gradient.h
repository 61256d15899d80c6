// The gradient of a 3×3 convolution's weights as a program of the tensor unit, in bfloat16.
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
#include "node/accelerator/tensor_section.h"

namespace tributary::accelerator {

// A convolution over squares, with zeros around them.
struct ConvolutionShape {
  std::size_t side = 0, inputs = 0, outputs = 0;
};

// Σ over images and pixels of y's gradient times the input that the tap meets there. To the unit that is a
// convolution whose kernel is the gradient: the images are its input channels, a group of N / 2 at a time,
// and its output pixels are the inputs' taps. So a group has a program of its own, and a run of it computes
// as many inputs as the unit has room for. Sums of groups are added in float32, in their order. One thread.
class EncoderWeightGradient {
 public:
  // Why the unit cannot; empty: it can.
  static std::string WhyNot(const ConvolutionShape& shape, const fpga::TensorUnitSize& unit);

  // Errors: InvalidArgument with WhyNot's reason; those of TensorTarget::MakeJob. The target outlives it.
  static absl::StatusOr<std::unique_ptr<EncoderWeightGradient>> Create(const ConvolutionShape& shape,
                                                                       const TensorTarget& target);

  // Bytes that it holds at most, on a board too, where the unit can.
  static std::uint64_t Bytes(const ConvolutionShape& shape, const TensorTarget& target);

  // weight_gradient [outputs × inputs × 3 × 3] += that of this batch, for the first outputs of y_gradient, at
  // most the shape's. Inputs have 8 significant bits, or are rounded to them, as gradients are. Errors: those
  // of TensorJob; then nothing is added.
  absl::Status Add(const nn::Planes& x, const nn::Planes& y_gradient, std::span<float> weight_gradient);

  // Clock cycles of the last Add.
  std::uint64_t counted_cycles() const { return counted_cycles_; }

 private:
  EncoderWeightGradient(const ConvolutionShape& shape, const fpga::TensorUnitSize& unit);

  fpga::TensorBuffers Buffers() const;
  absl::StatusOr<std::vector<std::uint64_t>> Program() const;
  void PutGradient(const nn::Planes& y_gradient, std::size_t group, std::size_t outputs);
  void PutInputs(const nn::Planes& x, std::size_t group, std::size_t first,
                 std::span<std::uint64_t> words) const;

  const ConvolutionShape shape_;
  const fpga::TensorUnitSize unit_;
  const std::size_t run_inputs_;  // inputs of a run
  std::vector<std::uint64_t> program_;
  std::vector<float> sums_;  // [outputs × inputs × 9]
  std::unique_ptr<TensorJob> job_;
  std::uint64_t counted_cycles_ = 0;
};

}  // namespace tributary::accelerator
