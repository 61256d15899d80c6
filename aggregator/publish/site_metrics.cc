#include "aggregator/publish/site_metrics.h"

#include <cstdint>
#include <string>
#include <vector>

#include "core/wire/json.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::publish {
namespace {

using Counters = fusion::FusionCounters;
using Source = fusion::SourceStatus;
using Reasons = std::array<std::uint64_t, fusion::kRefusalReasons>;

template <class Counts>
struct CountMetric {
  const char* name;
  const char* help;
  std::uint64_t Counts::*count;
};

constexpr CountMetric<Counters> kCounts[] = {
    {"tributary_frames_accepted_total", "Frames taken.", &Counters::frames_accepted},
    {"tributary_frames_replaced_total", "Frames that replaced an earlier revision.",
     &Counters::frames_replaced},
    {"tributary_tuples_accepted_total", "Tuples taken into the window.", &Counters::tuples_accepted},
    {"tributary_tuples_replaced_total", "Tuples in frames that a later revision replaced.",
     &Counters::tuples_replaced},
    {"tributary_tuples_redundant_total", "Tuples left out: their leaves were in a larger contribution.",
     &Counters::tuples_redundant},
    {"tributary_tuples_fused_total", "Fused results published.", &Counters::tuples_fused},
    {"tributary_tuples_unusable_total", "Fused results outside the range of fp32, not published.",
     &Counters::tuples_unusable},
    {"tributary_revisions_total", "Slots published again.", &Counters::revisions},
};

// What made slots due.
constexpr struct {
  const char* end;
  std::uint64_t Counters::*count;
} kSlotEnds[] = {{"complete", &Counters::slots_complete},
                 {"deadline", &Counters::slots_at_deadline},
                 {"evicted", &Counters::slots_evicted},
                 {"drained", &Counters::slots_drained}};

constexpr CountMetric<Source> kSourceCounts[] = {
    {"tributary_source_frames_accepted_total", "Frames of this source that were taken.",
     &Source::frames_accepted},
    {"tributary_source_frames_refused_total", "Frames of this source that were refused.",
     &Source::frames_refused},
    {"tributary_source_tuples_accepted_total", "Tuples of this source that were taken.",
     &Source::tuples_accepted},
    {"tributary_source_tuples_gated_total", "Tuples left out by the gate.", &Source::tuples_gated},
};

}  // namespace

runtime::Histogram& AddSiteMetrics(const fusion::FusionEngine& engine, runtime::Metrics& metrics) {
  const runtime::MetricLabels site{{"site", engine.config().name}};
  const auto with = [&site](const char* label, std::string value) {
    runtime::MetricLabels labels = site;
    labels[label] = std::move(value);
    return labels;
  };
  const auto counter = [&](const char* name, const char* help, const runtime::MetricLabels& labels,
                           std::uint64_t Counters::*count) {
    metrics.AddCounterCallback(name, help, labels,
                               [&engine, count] { return static_cast<double>(engine.counters().*count); });
  };
  const auto reasons = [&](const char* name, const char* help, Reasons Counters::*counts) {
    for (std::size_t i = 1; i < fusion::kRefusalReasons; ++i) {
      const std::string reason = wire::EnumLabel(static_cast<v1::RefusalReason>(i));
      metrics.AddCounterCallback(name, help, with("reason", reason), [&engine, counts, i] {
        return static_cast<double>((engine.counters().*counts)[i]);
      });
    }
  };
  for (const auto& each : kCounts) counter(each.name, each.help, site, each.count);
  for (const auto& each : kSlotEnds) {
    counter("tributary_slots_fused_total", "Slots fused, by what made them due.", with("end", each.end),
            each.count);
  }
  reasons("tributary_frames_refused_total", "Frames refused by the fusion engine.",
          &Counters::frames_refused);
  reasons("tributary_tuples_refused_total", "Tuples refused in frames otherwise taken.",
          &Counters::tuples_refused);
  metrics.AddGaugeCallback("tributary_open_slots", "Slots that wait for contributions.", site,
                           [&engine] { return static_cast<double>(engine.counters().open_slots); });
  const std::vector<std::string>& leaves = engine.config().leaves;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    metrics.AddCounterCallback("tributary_leaf_missed_slots_total", "Slots fused without this leaf.",
                               with("leaf", leaves[i]),
                               [&engine, i] { return static_cast<double>(engine.leaves()[i].missed_slots); });
    metrics.AddGaugeCallback("tributary_leaf_absent", "1 while slots do not wait for this leaf.",
                             with("leaf", leaves[i]),
                             [&engine, i] { return engine.leaves()[i].absent ? 1.0 : 0.0; });
  }
  const std::vector<double> bounds = {20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3,
                                      10e-3, 20e-3, 50e-3,  0.1,    0.5,    1,    10};
  return metrics.AddHistogram("tributary_fusion_latency_seconds",
                              "Time from the capture of a slot's earliest contribution to its fusion.",
                              bounds, site);
}

void SourceMetrics::Refresh() {
  const std::vector<Source> sources = engine_.sources();
  for (; known_ < sources.size(); ++known_) {
    const runtime::MetricLabels labels{{"site", engine_.config().name}, {"source", sources[known_].name}};
    const auto source = [&engine = engine_, i = known_] { return engine.sources()[i]; };
    metrics_.AddGaugeCallback("tributary_source_consistency",
                              "Mean normalised innovation squared by dimension; 1 for a consistent source.",
                              labels, [source] { return source().consistency; });
    metrics_.AddGaugeCallback("tributary_source_last_epoch", "The latest epoch of this source.", labels,
                              [source] { return static_cast<double>(source().last_epoch); });
    for (const auto& each : kSourceCounts) {
      metrics_.AddCounterCallback(each.name, each.help, labels, [source, count = each.count] {
        return static_cast<double>(source().*count);
      });
    }
  }
}

}  // namespace tributary::publish
