#include "aggregator/publish/site_metrics.h"

#include <cstdint>
#include <string>

namespace tributary::publish {
namespace {

using Member = std::uint64_t fusion::FusionCounters::*;

void AddReasons(const fusion::FusionEngine& engine, runtime::Metrics& metrics, const std::string& name,
                const std::string& help,
                std::array<std::uint64_t, fusion::kRefusalReasons> fusion::FusionCounters::*member) {
  for (std::size_t i = 1; i < fusion::kRefusalReasons; ++i) {
    const runtime::MetricLabels labels{
        {"site", engine.config().name},
        {"reason", std::string(fusion::RefusalReasonName(static_cast<fusion::RefusalReason>(i)))}};
    metrics.AddCounterCallback(name, help, labels, [&engine, member, i] {
      return static_cast<double>((engine.counters().*member)[i]);
    });
  }
}

}  // namespace

const std::vector<double>& LatencyBounds() {
  static const std::vector<double> kBounds = {20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3,
                                              10e-3, 20e-3, 50e-3,  0.1,    0.5,    1,    10};
  return kBounds;
}

void AddSiteMetrics(const fusion::FusionEngine& engine, runtime::Metrics& metrics) {
  const runtime::MetricLabels site{{"site", engine.config().name}};
  const auto counter = [&](const char* name, const char* help, Member member,
                           const runtime::MetricLabels& labels) {
    metrics.AddCounterCallback(name, help, labels,
                               [&engine, member] { return static_cast<double>(engine.counters().*member); });
  };
  const auto slots = [&](const char* end, Member member) {
    runtime::MetricLabels labels = site;
    labels["end"] = end;
    counter("tributary_slots_fused_total", "Slots fused, by what made them due.", member, labels);
  };
  counter("tributary_frames_accepted_total", "Frames taken.", &fusion::FusionCounters::frames_accepted, site);
  counter("tributary_frames_replaced_total", "Frames that replaced an earlier revision.",
          &fusion::FusionCounters::frames_replaced, site);
  counter("tributary_tuples_accepted_total", "Tuples taken into the window.",
          &fusion::FusionCounters::tuples_accepted, site);
  counter("tributary_tuples_replaced_total", "Tuples in frames that a later revision replaced.",
          &fusion::FusionCounters::tuples_replaced, site);
  counter("tributary_tuples_redundant_total", "Tuples left out: their leaves were in a larger contribution.",
          &fusion::FusionCounters::tuples_redundant, site);
  counter("tributary_tuples_fused_total", "Fused results published.", &fusion::FusionCounters::tuples_fused,
          site);
  counter("tributary_tuples_unusable_total", "Fused results outside the range of fp32, not published.",
          &fusion::FusionCounters::tuples_unusable, site);
  counter("tributary_revisions_total", "Slots published again.", &fusion::FusionCounters::revisions, site);
  slots("complete", &fusion::FusionCounters::slots_complete);
  slots("deadline", &fusion::FusionCounters::slots_at_deadline);
  slots("evicted", &fusion::FusionCounters::slots_evicted);
  slots("drained", &fusion::FusionCounters::slots_drained);
  AddReasons(engine, metrics, "tributary_frames_refused_total", "Frames refused by the fusion engine.",
             &fusion::FusionCounters::frames_refused);
  AddReasons(engine, metrics, "tributary_tuples_refused_total", "Tuples refused in frames otherwise taken.",
             &fusion::FusionCounters::tuples_refused);
  metrics.AddGaugeCallback("tributary_open_slots", "Slots that wait for contributions.", site,
                           [&engine] { return static_cast<double>(engine.counters().open_slots); });
  const std::vector<std::string>& leaves = engine.config().leaves;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    runtime::MetricLabels leaf = site;
    leaf["leaf"] = leaves[i];
    metrics.AddCounterCallback("tributary_leaf_missed_slots_total", "Slots fused without this leaf.", leaf,
                               [&engine, i] { return static_cast<double>(engine.leaves()[i].missed_slots); });
    metrics.AddGaugeCallback("tributary_leaf_absent", "1 while slots do not wait for this leaf.", leaf,
                             [&engine, i] { return engine.leaves()[i].absent ? 1.0 : 0.0; });
  }
}

void SourceMetrics::Refresh() {
  const std::vector<fusion::SourceStatus> sources = engine_.sources();
  for (; known_ < sources.size(); ++known_) {
    const std::size_t i = known_;
    const runtime::MetricLabels labels{{"site", engine_.config().name}, {"source", sources[i].name}};
    metrics_.AddGaugeCallback("tributary_source_consistency",
                              "Mean normalised innovation squared by dimension; 1 for a consistent source.",
                              labels, [this, i] { return engine_.sources()[i].consistency; });
    metrics_.AddGaugeCallback("tributary_source_last_epoch", "The latest epoch of this source.", labels,
                              [this, i] { return static_cast<double>(engine_.sources()[i].last_epoch); });
    const auto counter = [&](const char* name, const char* help, std::uint64_t fusion::SourceStatus::*count) {
      metrics_.AddCounterCallback(
          name, help, labels, [this, i, count] { return static_cast<double>(engine_.sources()[i].*count); });
    };
    counter("tributary_source_frames_accepted_total", "Frames of this source that were taken.",
            &fusion::SourceStatus::frames_accepted);
    counter("tributary_source_frames_refused_total", "Frames of this source that were refused.",
            &fusion::SourceStatus::frames_refused);
    counter("tributary_source_tuples_accepted_total", "Tuples of this source that were taken.",
            &fusion::SourceStatus::tuples_accepted);
    counter("tributary_source_tuples_gated_total", "Tuples left out by the gate.",
            &fusion::SourceStatus::tuples_gated);
  }
}

}  // namespace tributary::publish
