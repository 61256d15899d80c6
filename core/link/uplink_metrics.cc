#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/link/uplink.h"
#include "core/wire/json.h"

namespace tributary::link {
namespace {

void AddDiskMetrics(const Uplink& uplink, const UplinkOptions& options, runtime::Metrics& metrics) {
  const runtime::MetricLabels& labels = options.metric_labels;
  metrics.AddCollector([&uplink, labels, budget = options.disk->budget_bytes](runtime::Reading& reading) {
    const DiskBacklogCounters disk = uplink.counters().disk.value_or(DiskBacklogCounters());
    reading.Counter("tributary_uplink_disk_recovered_frames_total",
                    "Frames that an earlier process left on the disk.", labels, disk.recovered_frames);
    const auto dropped = [&](const char* reason, std::uint64_t frames) {
      runtime::MetricLabels of = labels;
      of["reason"] = reason;
      reading.Counter("tributary_uplink_disk_dropped_frames_total",
                      "Frames on the disk that were dropped; part of tributary_uplink_dropped_frames_total.",
                      of, frames);
    };
    dropped("over_budget", disk.over_budget_frames);
    dropped("expired", disk.expired_frames);
    dropped("damaged", disk.damaged_frames);
    reading.Counter("tributary_uplink_disk_errors_total",
                    "Operations on the disk that failed; frames then stay in memory.", labels, disk.errors);
    const auto gauge = [&](const char* name, const char* help, std::uint64_t value) {
      reading.Gauge(name, help, labels, value);
    };
    gauge("tributary_uplink_disk_frames", "Frames on the disk that wait to be sent.", disk.stored_frames);
    gauge("tributary_uplink_disk_bytes", "Bytes of the frames on the disk.", disk.stored_bytes);
    gauge("tributary_uplink_disk_limit_bytes", "Bytes that the frames on the disk may have.", budget);
    gauge("tributary_uplink_disk_set_aside_files",
          "Files in the spool's folder that it leaves alone: of another release, configuration or owner.",
          disk.set_aside_files);
    gauge("tributary_uplink_disk_healthy", "1 while the spool's folder can be used.", disk.healthy ? 1 : 0);
  });
}

}  // namespace

std::string_view UplinkStateName(UplinkState state) {
  constexpr std::string_view kNames[] = {"connecting", "reporting", "refused", "stopped"};
  return kNames[static_cast<std::size_t>(state)];
}

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
        "Frames dropped unacknowledged: the spool was full, the process ended, or the disk lost them.",
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
  if (options.disk) AddDiskMetrics(uplink, options, metrics);
  metrics.AddGaugeCallback("tributary_uplink_spool_frames", "Frames held until they are acknowledged.",
                           labels, [&uplink] { return uplink.counters().spool.held_frames; });
  metrics.AddGaugeCallback("tributary_uplink_spool_bytes", "Payload of the frames held.", labels,
                           [&uplink] { return uplink.counters().spool.held_bytes; });
  const auto limit = [&](const char* name, const char* help, std::size_t value) {
    metrics.AddGaugeCallback(name, help, labels, [value] { return value; });
  };
  limit("tributary_uplink_spool_limit_frames", "Frames that the spool can hold.", options.spool.frames);
  limit("tributary_uplink_spool_limit_bytes", "Payload that the spool can hold.", options.spool.bytes);
  metrics.AddGaugeCallback("tributary_uplink_connected", "1 while the aggregator takes frames.", labels,
                           [&uplink] { return uplink.state() == UplinkState::kReporting ? 1.0 : 0.0; });
  metrics.AddCollector([&uplink, labels](runtime::Reading& reading) {
    const RefusalCounters refused = uplink.counters().refusals;
    constexpr auto kNameOf = wire::EnumLabel<v1::RefusalReason>;
    reading.Reasons("tributary_uplink_refused_frames_total", "Frames that the aggregator refused as a whole.",
                    labels, refused.frames, kNameOf);
    reading.Reasons("tributary_uplink_refused_tuples_total", "Tuples that the aggregator refused.", labels,
                    refused.tuples, kNameOf);
  });
  return metrics.AddHistogram("tributary_uplink_round_trip_seconds", "Time from write to acknowledgement.",
                              {25e-6, 50e-6, 100e-6, 200e-6, 400e-6, 800e-6, 1.6e-3, 3.2e-3, 6.4e-3, 12.8e-3,
                               25.6e-3, 51.2e-3, 0.1, 0.4, 1.6, 6.4},
                              labels);
}

}  // namespace tributary::link
