// Runs one frame of samples through an accelerator.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "core/estimate/tuple_frame.h"
#include "node/accelerator/accelerator.h"
#include "node/source/source.h"

namespace tributary::workload {

// Runs the network on all n subjects of `samples` (features [n × inputs]) in batches as large as the
// accelerator takes, into `outputs` [n × outputs], and starts `tuples` with the samples' epoch and time and
// no subjects. Errors: InvalidArgument if the features are not n × inputs; the accelerator's.
absl::Status InferFrame(accelerator::Accelerator& accelerator, const source::SensorFrame& samples,
                        std::vector<float>& outputs, estimate::TupleFrame& tuples);

}  // namespace tributary::workload
