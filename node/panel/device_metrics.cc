#include "node/panel/device_metrics.h"

#include <cstdint>

namespace tributary::panel {

void AddDeviceMetrics(runtime::Metrics& metrics, const runtime::MetricLabels& labels,
                      std::function<accelerator::Accelerator::Counters()> counters) {
  const auto add = [&](const char* name, const char* help,
                       std::uint64_t accelerator::Accelerator::Counters::*count) {
    metrics.AddCounterCallback(name, help, labels,
                               [counters, count] { return static_cast<double>(counters().*count); });
  };
  add("tributary_accelerator_runs_total", "Runs of kernels that were started on a device.",
      &accelerator::Accelerator::Counters::runs);
  add("tributary_accelerator_failed_runs_total", "Runs that a device ended with an error.",
      &accelerator::Accelerator::Counters::failed_runs);
  add("tributary_accelerator_timeouts_total", "Runs that a device did not end in time.",
      &accelerator::Accelerator::Counters::timeouts);
  add("tributary_accelerator_reopened_total", "Times that a device was opened again after a failure.",
      &accelerator::Accelerator::Counters::reopened);
  add("tributary_accelerator_fallback_batches_total",
      "Batches that the processor computed because the device failed.",
      &accelerator::Accelerator::Counters::fallbacks);
}

}  // namespace tributary::panel
