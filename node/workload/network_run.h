// The network's outputs for all subjects of a frame.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/accelerator/accelerator.h"
#include "node/source/source.h"

namespace tributary::workload {

// InvalidArgument naming the workload, unless the accelerator has this shape.
absl::Status CheckShape(const char* workload, const accelerator::Accelerator& accelerator, std::size_t inputs,
                        std::size_t outputs);

// Owns the accelerator. Allocates nothing once the outputs have grown to the number of subjects.
class NetworkRun {
 public:
  explicit NetworkRun(std::unique_ptr<accelerator::Accelerator> accelerator)
      : accelerator_(std::move(accelerator)) {}

  // Runs in batches as large as the accelerator takes. Errors: as the accelerator's; InvalidArgument if the
  // number of features does not fit the subjects.
  absl::Status Infer(const source::SensorFrame& samples);

  // `subject` is the index in the frame.
  std::span<const float> features(const source::SensorFrame& samples, std::size_t subject) const {
    const std::size_t width = accelerator_->shape().inputs;
    return std::span(samples.features).subspan(subject * width, width);
  }
  std::span<const float> outputs(std::size_t subject) const {
    const std::size_t width = accelerator_->shape().outputs;
    return std::span(outputs_).subspan(subject * width, width);
  }

  accelerator::Accelerator::Counters counters() const { return accelerator_->counters(); }

 private:
  const std::unique_ptr<accelerator::Accelerator> accelerator_;
  std::vector<float> outputs_;
};

}  // namespace tributary::workload
