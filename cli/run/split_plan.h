// Which runs take the place of a run whose nodes form clusters.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/learning/run_config.h"
#include "tributary/v1/run.pb.h"

namespace tributary::cli {

struct NewRun {
  std::string config;
  learning::RunConfig parsed;
};

struct SplitPlan {
  std::vector<NewRun> runs;  // one for each cluster
  v1::RunSplit outside;      // without runs: which nodes will be in none, or are away
};

std::set<std::string> ConnectedNodes(const v1::GetRunResponse& run);

// A run for each cluster that was found: its file with names that begin with `base`, the nodes of the
// cluster, the rounds that are left or all if none are, and min_nodes and quorum in proportion, and of no
// more nodes than are connected. `connected`: nodes of the run; empty: nobody knows. Errors:
// FailedPrecondition for a name that is too long; those of a configuration that cannot be read.
absl::StatusOr<SplitPlan> PlanSplit(const v1::GetRunResponse& run, std::string_view base,
                                    const std::set<std::string>& connected);

// Whether the run of that configuration was started by the same plan. Who was connected then may differ.
bool IsOfSamePlan(const NewRun& run, const std::string& config);

}  // namespace tributary::cli
