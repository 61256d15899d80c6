// The uplink's metrics, under the names that docs and dashboards use.
#pragma once

#include "core/runtime/metrics.h"
#include "core/link/uplink.h"

namespace tributary {

// Counters are read from the uplink when the metrics are. Returns the histogram of round trips: write to
// acknowledgement, s.
Histogram& AddUplinkMetrics(const Uplink& uplink, const MetricLabels& labels, Metrics& metrics);

}  // namespace tributary
