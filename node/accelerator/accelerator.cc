#include "node/accelerator/accelerator.h"

#include "fmt/format.h"

namespace tributary::accelerator {

absl::Status Accelerator::Infer(std::span<const float> features, std::size_t batch,
                                std::span<float> outputs) {
  if (batch <= shape_.max_batch && features.size() == batch * shape_.inputs &&
      outputs.size() == batch * shape_.outputs) {
    return Run(features, batch, outputs);
  }
  return absl::InvalidArgumentError(
      fmt::format("{}: batch {} of at most {} with {} features and {} outputs; {} and {} each are expected",
                  description(), batch, shape_.max_batch, features.size(), outputs.size(), shape_.inputs,
                  shape_.outputs));
}

}  // namespace tributary::accelerator
