#include "node/workload/network_run.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status/macros.h"

namespace tributary::workload {

absl::Status CheckShape(const char* workload, const accelerator::Accelerator& accelerator, std::size_t inputs,
                        std::size_t outputs) {
  const accelerator::Accelerator::Shape shape = accelerator.shape();
  if (shape.inputs == inputs && shape.outputs == outputs && shape.max_batch > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(workload, " needs an accelerator of ", inputs, " inputs and ", outputs, " outputs; ",
                   accelerator.description(), " has ", shape.inputs, " and ", shape.outputs));
}

absl::Status NetworkRun::Infer(const source::SensorFrame& samples) {
  const accelerator::Accelerator::Shape& shape = accelerator_->shape();
  const std::size_t subjects = samples.subjects.size();
  if (samples.features.size() != subjects * shape.inputs) {
    return absl::InvalidArgumentError(absl::StrCat(samples.features.size(), " features for ", subjects,
                                                   " subjects; ", shape.inputs, " each are expected"));
  }
  outputs_.resize(subjects * shape.outputs);
  for (std::size_t first = 0; first < subjects; first += shape.max_batch) {
    const std::size_t batch = std::min(shape.max_batch, subjects - first);
    RETURN_IF_ERROR(accelerator_->Infer(
        std::span(samples.features).subspan(first * shape.inputs, batch * shape.inputs), batch,
        std::span(outputs_).subspan(first * shape.outputs, batch * shape.outputs)));
  }
  return absl::OkStatus();
}

}  // namespace tributary::workload
