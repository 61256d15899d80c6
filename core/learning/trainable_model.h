// Whether the nodes of a run can train a model file.
#pragma once

#include "absl/status/status.h"
#include "core/parameters/tensor.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// A file that names a format of ours must be a network of the run's workload: nodes would decline another
// one, and the run would wait for ever. Any other file is somebody's own; nodes of other programs may train
// it. InvalidArgument, with what is wrong.
absl::Status CheckTrainable(const v1::ClientSettings& client, const parameters::TensorSet& model);

}  // namespace tributary::learning
