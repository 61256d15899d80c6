// The convolutions of an encoder in training as a program of the tensor unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/graph/array.h"
#include "core/graph/quantised/quantised_layer.h"
#include "core/nn/encoder/encoder_options.h"
#include "node/accelerator/tensor_section.h"

namespace tributary::accelerator {

// The stages of a quantised encoder, as nn::StageUnit has them. Each convolution is a layer of the section,
// and so are the maxima before the next one. The weights change with every training step: they are compiled
// and loaded again if they are others than in the last batch. Owns all buffers. One thread.
class EncoderStages {
 public:
  // Why the target cannot compute such an encoder, whatever its weights; empty: it can.
  static std::string WhyNot(const nn::EncoderOptions& options, const TensorTarget& target);

  // Errors: InvalidArgument for an encoder that is not quantised, or with WhyNot's reason; those of
  // TensorTarget::Prepare. The target outlives it.
  static absl::StatusOr<std::unique_ptr<EncoderStages>> Create(const nn::EncoderOptions& options,
                                                               std::size_t batch, const TensorTarget& target);

  // Bytes that it holds at most, on a board too and while weights are compiled, for valid options.
  static std::uint64_t Bytes(const nn::EncoderOptions& options, std::size_t batch,
                             const TensorTarget& target);

  // Errors: InvalidArgument for other numbers of pixels or weights; those of the section.
  absl::Status Compute(std::span<const std::uint8_t> images, std::span<const std::int8_t> kernels);

  std::span<const std::uint8_t> Result(std::size_t stage) const { return results_[stage]; }
  // What program and buffers take at the target.
  std::uint64_t section_bytes() const { return runner_->memory_bytes(); }
  // As planned for a batch: of convolutions and maxima in turn, and of transfers.
  graph::SectionCycles planned() const { return runner_->cycles(); }
  // Planned for one image, transfers included.
  std::uint64_t cycles() const;
  // Counted in the last batch.
  std::uint64_t counted_cycles() const { return runner_->counted_cycles(); }

 private:
  EncoderStages() = default;

  graph::QuantisedSection section_;
  std::unique_ptr<TensorSection> runner_;
  bool loaded_ = false;                             // the section's weights are in the unit
  std::vector<std::uint8_t> images_;                // a view of an array may be written to
  std::vector<std::vector<std::uint8_t>> results_;  // of each stage
  std::vector<graph::Spec> specs_;                  // of the images and the results
};

}  // namespace tributary::accelerator
