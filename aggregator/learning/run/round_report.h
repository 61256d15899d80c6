// A line of a run's history (Round of run.proto).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregator/learning/round/run_event.h"
#include "aggregator/learning/run/kept_update.h"
#include "tributary/v1/run.pb.h"

namespace tributary::learning {

// So many nodes are named in a line; the counts are of all.
inline constexpr std::size_t kNamedContributions = 1'000;

// What the round's updates and declined tasks say of it. The caller adds numbers, times and the result.
v1::Round ReportRound(const std::vector<KeptUpdate>& updates, const DeclinedTasks& declined);

// The line tells of a round whose result is the run's model; it is no failure and no return to an earlier
// model.
inline bool IsCommitted(const v1::Round& line) { return !line.rolled_back() && line.failure().empty(); }

}  // namespace tributary::learning
