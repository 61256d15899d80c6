#include "node/panel/panel_metrics.h"

#include <string>

namespace tributary::panel {

void AddDeviceMetrics(runtime::Metrics& metrics, const runtime::MetricLabels& labels,
                      const std::function<accelerator::Accelerator::Counters()>& read) {
  using Counters = accelerator::Accelerator::Counters;
  metrics.AddCounts<Counters>(
      labels, read,
      {{"tributary_accelerator_runs_total", "Runs of kernels that were started on a device.",
        &Counters::runs},
       {"tributary_accelerator_failed_runs_total", "Runs that a device ended with an error.",
        &Counters::failed_runs},
       {"tributary_accelerator_timeouts_total", "Runs that a device did not end in time.",
        &Counters::timeouts},
       {"tributary_accelerator_reopened_total", "Times that a device was opened again after a failure.",
        &Counters::reopened},
       {"tributary_accelerator_fallback_batches_total",
        "Batches that the processor computed because the device failed.", &Counters::fallbacks}});
}

void AddUdpMetrics(runtime::Metrics& metrics, const runtime::MetricLabels& labels,
                   const std::function<source::UdpCounters()>& read) {
  using Counters = source::UdpCounters;
  metrics.AddCounts<Counters>(
      labels, read,
      {{"tributary_udp_datagrams_total", "Datagrams received, used or not.", &Counters::datagrams},
       {"tributary_udp_lost_subjects_total", "Subjects incomplete when their slot was handed on.",
        &Counters::lost_subjects},
       {"tributary_udp_lost_slots_total", "Slots given up: none of their subjects was complete.",
        &Counters::lost_slots},
       {"tributary_udp_kernel_drops_total", "Datagrams for which the socket's buffer had no room.",
        &Counters::kernel_drops}});
  for (std::size_t i = 0; i < source::kUdpFaults; ++i) {
    runtime::MetricLabels with_reason = labels;
    with_reason["reason"] = std::string(source::UdpFaultName(static_cast<source::UdpFault>(i)));
    metrics.AddCounterCallback("tributary_udp_datagrams_unused_total",
                               "Datagrams received and not used, by reason.", with_reason,
                               [read, i] { return static_cast<double>(read().unused[i]); });
  }
}

}  // namespace tributary::panel
