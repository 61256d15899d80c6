#include "core/uplink/uplink_metrics.h"

#include <string>

#include "core/uplink/convert.h"

namespace tributary {
namespace {

void AddSpoolCounter(const Uplink& uplink, Metrics& metrics, const char* name, const char* help,
                     std::uint64_t SpoolCounters::*count) {
  metrics.AddCounterCallback(
      name, help, {}, [&uplink, count] { return static_cast<double>(uplink.counters().spool.*count); });
}

void AddSpoolMetrics(const Uplink& uplink, Metrics& metrics) {
  AddSpoolCounter(uplink, metrics, "tributary_uplink_offered_frames_total", "Frames offered to the uplink.",
                  &SpoolCounters::offered_frames);
  AddSpoolCounter(uplink, metrics, "tributary_uplink_sent_frames_total",
                  "Frames handed to the stream, repetitions included.", &SpoolCounters::taken_frames);
  AddSpoolCounter(uplink, metrics, "tributary_uplink_resent_frames_total",
                  "Frames handed to the stream again after it was lost.", &SpoolCounters::retaken_frames);
  AddSpoolCounter(uplink, metrics, "tributary_uplink_acknowledged_frames_total",
                  "Frames that the aggregator took or refused.", &SpoolCounters::acknowledged_frames);
  AddSpoolCounter(uplink, metrics, "tributary_uplink_dropped_frames_total",
                  "Frames dropped unacknowledged: the spool was full or the process ended.",
                  &SpoolCounters::dropped_frames);
  AddSpoolCounter(uplink, metrics, "tributary_uplink_dropped_tuples_total", "Tuples in dropped frames.",
                  &SpoolCounters::dropped_tuples);
  metrics.AddGaugeCallback("tributary_uplink_spool_frames", "Frames held until they are acknowledged.", {},
                           [&uplink] { return static_cast<double>(uplink.counters().spool.held_frames); });
  metrics.AddGaugeCallback("tributary_uplink_spool_bytes", "Payload of the frames held.", {},
                           [&uplink] { return static_cast<double>(uplink.counters().spool.held_bytes); });
}

void AddRefusalMetrics(const Uplink& uplink, Metrics& metrics) {
  for (std::size_t reason = 0; reason < kRefusalReasonCount; ++reason) {
    const MetricLabels labels = {
        {"reason", std::string(RefusalReasonLabel(static_cast<v1::RefusalReason>(reason)))}};
    metrics.AddCounterCallback(
        "tributary_uplink_refused_frames_total", "Frames that the aggregator refused as a whole.", labels,
        [&uplink, reason] { return static_cast<double>(uplink.counters().refusals.frames[reason]); });
    metrics.AddCounterCallback(
        "tributary_uplink_refused_tuples_total", "Tuples that the aggregator refused.", labels,
        [&uplink, reason] { return static_cast<double>(uplink.counters().refusals.tuples[reason]); });
  }
}

}  // namespace

Histogram& AddUplinkMetrics(const Uplink& uplink, Metrics& metrics) {
  AddSpoolMetrics(uplink, metrics);
  AddRefusalMetrics(uplink, metrics);
  metrics.AddGaugeCallback("tributary_uplink_connected", "1 while the aggregator takes frames.", {},
                           [&uplink] { return uplink.state() == UplinkState::kReporting ? 1.0 : 0.0; });
  metrics.AddCounterCallback("tributary_uplink_connections_total", "Streams that the aggregator accepted.",
                             {}, [&uplink] { return static_cast<double>(uplink.counters().connections); });
  metrics.AddCounterCallback("tributary_uplink_messages_total", "Messages of frames written.", {},
                             [&uplink] { return static_cast<double>(uplink.counters().messages); });
  return metrics.AddHistogram("tributary_uplink_round_trip_seconds", "From write to acknowledgement.",
                              {25e-6, 50e-6, 100e-6, 200e-6, 400e-6, 800e-6, 1.6e-3, 3.2e-3, 6.4e-3, 12.8e-3,
                               25.6e-3, 51.2e-3, 0.1, 0.4, 1.6, 6.4});
}

}  // namespace tributary
