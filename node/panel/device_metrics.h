// The counts of a device, as metrics.
#pragma once

#include <functional>

#include "core/runtime/metrics.h"
#include "node/accelerator/accelerator.h"

namespace tributary::panel {

// Readers of the metrics call `counters` from any thread.
void AddDeviceMetrics(runtime::Metrics& metrics, const runtime::MetricLabels& labels,
                      std::function<accelerator::Accelerator::Counters()> counters);

}  // namespace tributary::panel
