// Whether the nodes of a run can train a model file.
#pragma once

#include "absl/status/status.h"
#include "core/learning/run_config.h"
#include "core/parameters/tensor.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// A file that names a format of ours must be a network of the run's workload: nodes would decline another
// one, and the run would wait for ever. A beacon's must have the tensors of its strategy, and no others. Any
// other file is somebody's own; nodes of other programs may train it. InvalidArgument, with what is wrong.
absl::Status CheckTrainable(const v1::ClientSettings& client, const parameters::TensorSet& model,
                            StrategyKind strategy = StrategyKind::kFedAvg);

}  // namespace tributary::learning
