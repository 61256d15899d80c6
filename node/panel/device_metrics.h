// What a device did, as metrics.
#pragma once

#include <functional>

#include "core/runtime/metrics.h"
#include "node/accelerator/accelerator.h"

namespace tributary {

// `counters` is called by whoever reads the metrics, from any thread.
void AddDeviceMetrics(Metrics& metrics, const MetricLabels& labels,
                      std::function<Accelerator::Counters()> counters);

}  // namespace tributary
