// The call that starts a run.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cli/connection.h"
#include "core/learning/run_config.h"
#include "tributary/v1/run.pb.h"

namespace tributary::cli {

// Bytes of a safetensors file as a run's initial model, without what they say of where they come from: the
// run's models would say that they are of the run that made this one. Errors begin with `path`: no model, or
// none that this configuration can train.
absl::StatusOr<std::string> AsInitialModel(const std::string& file, const std::string& path,
                                           const learning::RunConfig& config);

// Errors: those of FromPeer; DataLoss for an answer without a run.
absl::StatusOr<v1::StartRunResponse> CallStartRun(const ConnectionArguments& connection,
                                                  const std::string& config, std::string_view model);

// The run goes on: an error with exit status 1 if it was stopped or has failed, because another name starts
// another run.
absl::Status MustGoOn(const v1::Run& run);

}  // namespace tributary::cli
