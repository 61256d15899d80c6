#include "node/panel/device_metrics.h"

#include <cstdint>

namespace tributary {

void AddDeviceMetrics(Metrics& metrics, const MetricLabels& labels,
                      std::function<Accelerator::Counters()> counters) {
  const auto add = [&](const char* name, const char* help, std::uint64_t Accelerator::Counters::*count) {
    metrics.AddCounterCallback(name, help, labels,
                               [counters, count] { return static_cast<double>(counters().*count); });
  };
  add("tributary_accelerator_runs_total", "Runs of kernels that were started on a device.",
      &Accelerator::Counters::runs);
  add("tributary_accelerator_failed_runs_total", "Runs that a device ended with an error.",
      &Accelerator::Counters::failed_runs);
  add("tributary_accelerator_timeouts_total", "Runs that a device did not end in time.",
      &Accelerator::Counters::timeouts);
  add("tributary_accelerator_reopened_total", "Times that a device was opened again after a failure.",
      &Accelerator::Counters::reopened);
  add("tributary_accelerator_fallback_batches_total",
      "Batches that the processor computed because the device failed.", &Accelerator::Counters::fallbacks);
}

}  // namespace tributary
