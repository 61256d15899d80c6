// Runs of federated learning as the commands show them.
#pragma once

#include <cstdint>
#include <string>

#include "tributary/v1/run.pb.h"

namespace tributary::cli {

// "connected", "away", or "cannot train": it is there and is not asked. "done" in a run that has ended.
std::string ParticipantState(const v1::Run& run, const v1::Participant& participant);

// A line of the table of rounds, and what stands over it. On the operator's test images, the random encoder's
// figure stands behind the slash; shares are in percent.
std::string RoundHeading();
std::string RoundLineText(const v1::Round& round);

// Whether it trains no further.
bool HasEnded(const v1::Run& run);

// What a rollback to the model after `round` has done.
std::string RollBackText(const v1::Run& run, std::uint32_t round);

// One line about where a run stands.
std::string RunSummary(const v1::Run& run);

// What a waiting run has to wait for beside what its message says, behind that: a node that names no run
// takes part in the first one that has not ended. Empty: nothing. `runs`: in the order of their starts.
std::string WaitsBehind(const v1::ListRunsResponse& runs, const v1::Run& run);

// The answers as tables. `runs`: all that the aggregator has; empty: nobody knows. `now_unix_ns`: the age of
// a model counts to it.
std::string RunsText(const v1::ListRunsResponse& response);
std::string RunText(const v1::GetRunResponse& response, const v1::ListRunsResponse& runs = {});
// Names of peers with commas between them.
std::string NamesText(const google::protobuf::RepeatedPtrField<std::string>& names);
// The clusters of its nodes in lines, or why there are none; empty if the run does not look for any.
std::string ClustersText(const v1::GetRunResponse& response, const v1::ListRunsResponse& runs = {});
// A line about the clusters if their number is another one than `before`; else empty.
std::string ClusterNews(std::uint32_t before, const v1::Run& run);
// Whether the run was paused or resumed since it was in the state `before`.
bool IsPauseNews(v1::RunState before, const v1::Run& run);
std::string ModelsText(const v1::ListModelsResponse& response, std::int64_t now_unix_ns);

}  // namespace tributary::cli
