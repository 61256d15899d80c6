// A relay's counters as metrics.
#pragma once

#include "aggregator/learning/relay/relay.h"
#include "core/runtime/metrics.h"

namespace tributary::learning {

// The relay outlives the metrics' readers.
void AddRelayMetrics(const Relay& relay, runtime::Metrics& metrics);

}  // namespace tributary::learning
