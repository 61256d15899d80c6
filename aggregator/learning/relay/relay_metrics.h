// A relay's counters as metrics.
#pragma once

#include "aggregator/learning/relay/relay.h"
#include "core/runtime/metrics.h"

namespace tributary {

// The relay outlives the metrics' readers.
void AddRelayMetrics(const Relay& relay, Metrics& metrics);

}  // namespace tributary
