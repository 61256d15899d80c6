#include "node/workload/inference.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"

namespace tributary::workload {

absl::Status InferFrame(accelerator::Accelerator& accelerator, const source::SensorFrame& samples,
                        std::vector<float>& outputs, estimate::TupleFrame& tuples) {
  tuples.epoch = samples.epoch;
  tuples.captured_unix_ns = samples.captured_unix_ns;
  tuples.subjects.clear();
  tuples.means.clear();
  tuples.cholesky.clear();
  tuples.contributors.clear();

  const accelerator::Accelerator::Shape shape = accelerator.shape();
  const std::size_t subjects = samples.subjects.size();
  if (samples.features.size() != subjects * shape.inputs) {
    return absl::InvalidArgumentError(absl::StrCat(samples.features.size(), " features for ", subjects,
                                                   " subjects; ", shape.inputs, " each are expected"));
  }
  outputs.resize(subjects * shape.outputs);
  for (std::size_t first = 0; first < subjects; first += shape.max_batch) {
    const std::size_t batch = std::min(shape.max_batch, subjects - first);
    absl::Status status =
        accelerator.Infer(std::span(samples.features).subspan(first * shape.inputs, batch * shape.inputs),
                          batch, std::span(outputs).subspan(first * shape.outputs, batch * shape.outputs));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace tributary::workload
