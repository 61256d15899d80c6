// The counts of a panel's parts, as metrics. Readers of the metrics call `read` from any thread.
#pragma once

#include <functional>

#include "core/runtime/metrics.h"
#include "node/accelerator/accelerator.h"
#include "node/source/udp_account.h"

namespace tributary::panel {

void AddDeviceMetrics(runtime::Metrics& metrics, const runtime::MetricLabels& labels,
                      const std::function<accelerator::Accelerator::Counters()>& read);

void AddUdpMetrics(runtime::Metrics& metrics, const runtime::MetricLabels& labels,
                   const std::function<source::UdpCounters()>& read);

}  // namespace tributary::panel
