// The uplink's metrics, under the names that docs and dashboards use.
#pragma once

#include "core/link/uplink.h"
#include "core/runtime/metrics.h"

namespace tributary::link {

// Counters are read from the uplink when the metrics are. Returns the histogram of round trips: write to
// acknowledgement, s.
runtime::Histogram& AddUplinkMetrics(const Uplink& uplink, const runtime::MetricLabels& labels,
                            runtime::Metrics& metrics);

}  // namespace tributary::link
