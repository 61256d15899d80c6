// How a run comes to be: started by an operator or for a parent, or out of the store.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "aggregator/learning/run/run.h"
#include "aggregator/store/store.h"

namespace tributary::learning {

// Errors: InvalidArgument for the configuration (one line per fault) or the model; AlreadyExists; those of
// the store. Nothing is left behind then.
absl::StatusOr<std::unique_ptr<Run>> StartRun(const RunSurroundings& surroundings, std::string_view config,
                                              std::string_view model_file);
// A parent's run, of what its tasks say. Errors as those of StartRun, and InvalidArgument for a model that is
// not the one from which `round` starts.
absl::StatusOr<std::unique_ptr<Run>> StartRelayedRun(const RunSurroundings& surroundings,
                                                     const RunConfig& config, std::string_view model_file,
                                                     const ParentRound& round);
// From where the store says it stands. DataLoss: what is stored is damaged.
absl::StatusOr<std::unique_ptr<Run>> RestoreRun(const RunSurroundings& surroundings,
                                                const store::RunRecord& record);

}  // namespace tributary::learning
