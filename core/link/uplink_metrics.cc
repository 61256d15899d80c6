#include <string>

#include "core/link/uplink.h"
#include "core/wire/json.h"

namespace tributary::link {
runtime::Histogram& AddUplinkMetrics(const Uplink& uplink, const UplinkOptions& options,
                                     runtime::Metrics& metrics) {
  const runtime::MetricLabels& labels = options.metric_labels;
  metrics.AddCounts<SpoolCounters>(
      labels, [&uplink] { return uplink.counters().spool; },
      {{"tributary_uplink_offered_frames_total", "Frames offered to the uplink.",
        &SpoolCounters::offered_frames},
       {"tributary_uplink_sent_frames_total", "Frames handed to the stream, repetitions included.",
        &SpoolCounters::taken_frames},
       {"tributary_uplink_resent_frames_total", "Frames handed to the stream again after it was lost.",
        &SpoolCounters::retaken_frames},
       {"tributary_uplink_acknowledged_frames_total", "Frames that the aggregator took or refused.",
        &SpoolCounters::acknowledged_frames},
       {"tributary_uplink_dropped_frames_total",
        "Frames dropped unacknowledged: the spool was full or the process ended.",
        &SpoolCounters::dropped_frames},
       {"tributary_uplink_dropped_tuples_total", "Tuples in dropped frames.",
        &SpoolCounters::dropped_tuples}});
  metrics.AddCounts<RefusalCounters>(
      labels, [&uplink] { return uplink.counters().refusals; },
      {{"tributary_uplink_resent_duplicate_frames_total",
        "Frames sent again that had arrived the first time: refused, not lost.",
        &RefusalCounters::resent_duplicate_frames},
       {"tributary_uplink_resent_duplicate_tuples_total",
        "Tuples in frames sent again that had arrived the first time.",
        &RefusalCounters::resent_duplicate_tuples}});
  metrics.AddCounts<UplinkCounters>(
      labels, [&uplink] { return uplink.counters(); },
      {{"tributary_uplink_connections_total", "Streams that the aggregator accepted.",
        &UplinkCounters::connections},
       {"tributary_uplink_messages_total", "Messages of frames written.", &UplinkCounters::messages}});
  metrics.AddGaugeCallback("tributary_uplink_spool_frames", "Frames held until they are acknowledged.",
                           labels,
                           [&uplink] { return static_cast<double>(uplink.counters().spool.held_frames); });
  metrics.AddGaugeCallback("tributary_uplink_spool_bytes", "Payload of the frames held.", labels,
                           [&uplink] { return static_cast<double>(uplink.counters().spool.held_bytes); });
  const auto limit = [&](const char* name, const char* help, std::size_t value) {
    metrics.AddGaugeCallback(name, help, labels, [value] { return static_cast<double>(value); });
  };
  limit("tributary_uplink_spool_limit_frames", "Frames that the spool can hold.", options.spool.frames);
  limit("tributary_uplink_spool_limit_bytes", "Payload that the spool can hold.", options.spool.bytes);
  metrics.AddGaugeCallback("tributary_uplink_connected", "1 while the aggregator takes frames.", labels,
                           [&uplink] { return uplink.state() == UplinkState::kReporting ? 1.0 : 0.0; });
  for (std::size_t reason = 0; reason < kRefusalReasonCount; ++reason) {
    runtime::MetricLabels refused = labels;
    refused["reason"] = wire::EnumLabel(static_cast<v1::RefusalReason>(reason));
    metrics.AddCounterCallback(
        "tributary_uplink_refused_frames_total", "Frames that the aggregator refused as a whole.", refused,
        [&uplink, reason] { return static_cast<double>(uplink.counters().refusals.frames[reason]); });
    metrics.AddCounterCallback(
        "tributary_uplink_refused_tuples_total", "Tuples that the aggregator refused.", refused,
        [&uplink, reason] { return static_cast<double>(uplink.counters().refusals.tuples[reason]); });
  }
  return metrics.AddHistogram("tributary_uplink_round_trip_seconds", "Time from write to acknowledgement.",
                              {25e-6, 50e-6, 100e-6, 200e-6, 400e-6, 800e-6, 1.6e-3, 3.2e-3, 6.4e-3, 12.8e-3,
                               25.6e-3, 51.2e-3, 0.1, 0.4, 1.6, 6.4},
                              labels);
}

}  // namespace tributary::link
