// The first model of a run that names none.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/learning/run_config.h"

namespace tributary::learning {

// Whether a run of this workload may name no model: its own is drawn. The networks of the others come from a
// training or a file.
bool IsDrawn(const v1::ClientSettings& client);

// The run's encoder with parameters drawn from client.seed, as a safetensors file: the same run, the same
// model. Takes some milliseconds. Errors: InvalidArgument for an encoder that cannot be, and for a workload
// whose models are not drawn.
absl::StatusOr<std::string> FreshModel(const RunConfig& config);

}  // namespace tributary::learning
