// The products of an encoder's backward pass on the tensor unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/encoder/encoder_options.h"
#include "core/nn/kernel/planes.h"
#include "node/accelerator/encoder_input_gradient.h"
#include "node/accelerator/encoder_weight_gradient.h"
#include "node/accelerator/tensor_section.h"

namespace tributary::accelerator {

// A quantised encoder's, as nn::StageUnit has them. Its weights and activations are exact in bfloat16, so
// only gradients are rounded. Sums are float32. One thread.
class EncoderGradients {
 public:
  // Why the target cannot; empty: it can.
  static std::string WhyNot(const nn::EncoderOptions& options, const TensorTarget& target);

  // Errors: InvalidArgument with WhyNot's reason; those of TensorTarget::MakeJob. The target outlives it.
  static absl::StatusOr<std::unique_ptr<EncoderGradients>> Create(const nn::EncoderOptions& options,
                                                                  std::size_t batch,
                                                                  const TensorTarget& target);

  // Bytes that it holds at most, on a board too; 0 where the target cannot.
  static std::uint64_t Bytes(const nn::EncoderOptions& options, std::size_t batch,
                             const TensorTarget& target);

  // Errors: as EncoderWeightGradient::Add.
  absl::Status AddWeights(std::size_t stage, const nn::Planes& x, const nn::Planes& y_gradient,
                          std::span<float> weight_gradient) {
    return stages_[stage].weights->Add(x, y_gradient, weight_gradient);
  }
  // For all stages but the first. Errors: as EncoderInputGradient::Compute.
  absl::Status ComputeInputs(std::size_t stage, std::span<const float> weights, const nn::Planes& y_gradient,
                             nn::Planes& x_gradient) {
    return stages_[stage].inputs->Compute(weights, y_gradient, x_gradient);
  }

  // Clock cycles of a stage's last calls. The first stage has no inputs' gradient.
  std::uint64_t weight_cycles(std::size_t stage) const { return stages_[stage].weights->counted_cycles(); }
  std::uint64_t input_cycles(std::size_t stage) const { return stages_[stage].inputs->counted_cycles(); }

 private:
  struct Stage {
    std::unique_ptr<EncoderWeightGradient> weights;
    std::unique_ptr<EncoderInputGradient> inputs;  // null for the first
  };
  EncoderGradients() = default;

  std::vector<Stage> stages_;
};

}  // namespace tributary::accelerator
