// The counts of the panels' devices, as metrics.
#pragma once

#include "core/runtime/metrics.h"
#include "node/accelerator/accelerator.h"

namespace tributary::panel {

using DeviceCounters = accelerator::Accelerator::Counters;

inline constexpr runtime::CountMetric<DeviceCounters> kDeviceMetrics[] = {
    {"tributary_accelerator_runs_total", "Runs of kernels that were started on a device.",
     &DeviceCounters::runs},
    {"tributary_accelerator_failed_runs_total", "Runs that a device ended with an error.",
     &DeviceCounters::failed_runs},
    {"tributary_accelerator_timeouts_total", "Runs that a device did not end in time.",
     &DeviceCounters::timeouts},
    {"tributary_accelerator_reopened_total", "Times that a device was opened again after a failure.",
     &DeviceCounters::reopened},
    {"tributary_accelerator_fallback_batches_total",
     "Batches that the processor computed because the device failed.", &DeviceCounters::fallbacks}};

}  // namespace tributary::panel
