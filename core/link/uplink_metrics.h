// The uplink's metrics. Docs and dashboards use these names.
#pragma once

#include "core/link/uplink.h"
#include "core/runtime/metrics.h"

namespace tributary::link {

// The metrics read the counters when they are scraped. Returns the histogram of round trips: write to
// acknowledgement, s.
runtime::Histogram& AddUplinkMetrics(const Uplink& uplink, const runtime::MetricLabels& labels,
                                     runtime::Metrics& metrics);

}  // namespace tributary::link
