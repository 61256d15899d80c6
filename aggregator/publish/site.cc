#include "aggregator/publish/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_join.h"
#include "core/runtime/elapsed.h"
#include "core/wire/json.h"

namespace tributary::publish {
namespace {

using fusion::RefusalReason;

static_assert(fusion::kRefusalReasons == v1::RefusalReason_ARRAYSIZE &&
                  static_cast<int>(RefusalReason::kShape) == v1::REFUSAL_REASON_SHAPE &&
                  static_cast<int>(RefusalReason::kUnknownSource) == v1::REFUSAL_REASON_UNKNOWN_SOURCE &&
                  static_cast<int>(RefusalReason::kLate) == v1::REFUSAL_REASON_LATE &&
                  static_cast<int>(RefusalReason::kNotNormalised) == v1::REFUSAL_REASON_NOT_NORMALISED,
              "the engine's reasons have the numbers of fusion.proto");

const std::vector<double> kLatencyBounds = {20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3,
                                            10e-3, 20e-3, 50e-3,  0.1,    0.5,    1,    10};

runtime::MetricLabels With(runtime::MetricLabels labels, const char* label, const std::string& value) {
  labels[label] = value;
  return labels;
}

void CollectCounters(const fusion::FusionCounters& counters, const runtime::MetricLabels& site,
                     runtime::Reading& reading) {
  const auto count = [&](const char* name, const char* help, std::uint64_t value) {
    reading.Counter(name, help, site, value);
  };
  count("tributary_frames_accepted_total", "Frames taken.", counters.frames_accepted);
  count("tributary_frames_replaced_total", "Frames that replaced an earlier revision.",
        counters.frames_replaced);
  count("tributary_tuples_accepted_total", "Tuples taken into the window.", counters.tuples_accepted);
  count("tributary_tuples_replaced_total", "Tuples in frames that a later revision replaced.",
        counters.tuples_replaced);
  count("tributary_tuples_redundant_total", "Tuples left out: their leaves were in a larger contribution.",
        counters.tuples_redundant);
  count("tributary_tuples_fused_total", "Fused results published.", counters.tuples_fused);
  count("tributary_tuples_unusable_total", "Fused results outside the range of fp32, not published.",
        counters.tuples_unusable);
  count("tributary_revisions_total", "Slots published again.", counters.revisions);
  constexpr auto kNameOf = wire::EnumLabel<v1::RefusalReason>;
  reading.Reasons("tributary_frames_refused_total", "Frames refused by the fusion engine.", site,
                  counters.frames_refused, kNameOf, 1);
  reading.Reasons("tributary_tuples_refused_total", "Tuples refused in frames otherwise taken.", site,
                  counters.tuples_refused, kNameOf, 1);
  const auto fused = [&](const char* end, std::uint64_t slots) {
    reading.Counter("tributary_slots_fused_total", "Slots fused, by what made them due.",
                    With(site, "end", end), slots);
  };
  fused("complete", counters.slots_complete);
  fused("deadline", counters.slots_at_deadline);
  fused("evicted", counters.slots_evicted);
  fused("drained", counters.slots_drained);
  reading.Gauge("tributary_open_slots", "Slots that wait for contributions.", site, counters.open_slots);
}

void CollectSource(const fusion::SourceStatus& source, const runtime::MetricLabels& labels,
                   runtime::Reading& reading) {
  reading.Gauge("tributary_source_consistency",
                "Mean normalised innovation squared by dimension, or mean surprise of class probabilities; 1 "
                "for a consistent source, more for one that claims too much.",
                labels, source.consistency);
  if (source.calibration) {
    reading.Gauge("tributary_source_scale",
                  "How many times as large as it claims this source's standard deviation is, by the others.",
                  labels, source.calibration->scale);
    reading.Gauge("tributary_source_shift_meters",
                  "How far this source's positions must move to agree with the others.", labels,
                  std::hypot(source.calibration->shift_m[0], source.calibration->shift_m[1]));
    reading.Gauge("tributary_source_turn_degrees",
                  "How far this source's positions must turn about its place to agree with the others, "
                  "counter-clockwise.",
                  labels, source.calibration->turn_deg);
  }
  reading.Gauge("tributary_source_last_epoch", "The latest epoch of this source.", labels, source.last_epoch);
  reading.Gauge("tributary_source_frame_age_seconds",
                "From the beginning of the latest frame's slot to its arrival, by this machine's clock; "
                "negative: the source's clock is ahead.",
                labels, 1e-9 * static_cast<double>(source.frame_age_ns));
  reading.Counter("tributary_source_frames_accepted_total", "Frames of this source that were taken.", labels,
                  source.frames_accepted);
  reading.Counter("tributary_source_frames_refused_total", "Frames of this source that were refused.", labels,
                  source.frames_refused);
  reading.Counter("tributary_source_tuples_accepted_total", "Tuples of this source that were taken.", labels,
                  source.tuples_accepted);
  reading.Counter("tributary_source_tuples_gated_total", "Tuples left out by the gate.", labels,
                  source.tuples_gated);
}

}  // namespace

Site::Site(std::unique_ptr<fusion::FusionEngine> engine, std::string model_sha256, runtime::Metrics& metrics)
    : engine_(std::move(engine)),
      description_{.name = engine_->config().name,
                   .leaves = engine_->config().leaves,
                   .classes = engine_->config().classes,
                   .slot = engine_->config().slot},
      model_sha256_(std::move(model_sha256)),
      latency_(metrics.AddHistogram("tributary_fusion_latency_seconds",
                                    "Time from the capture of a slot's earliest contribution to its fusion.",
                                    kLatencyBounds, {{"site", name()}})) {}

void Site::Publish(const fusion::FusedSlots& fused) {
  if (fused.empty()) return;
  board_.OnSlots(fused.slots());
  feed_.Publish(fused.slots());
  for (const estimate::FusedSlot& slot : fused.slots()) {
    if (slot.revision > 0) continue;  // its lateness is the sender's
    latency_.Observe(runtime::ElapsedSeconds(slot.captured_unix_ns, slot.fused_unix_ns));
  }
}

std::uint64_t Site::refused_on_wire() const {
  return std::accumulate(refused_on_wire_.begin(), refused_on_wire_.end(), std::uint64_t{0});
}

void Site::Collect(runtime::Reading& reading) const {
  const runtime::MetricLabels site{{"site", name()}};
  for (const v1::RefusalReason reason :
       {v1::REFUSAL_REASON_SHAPE, v1::REFUSAL_REASON_UNKNOWN_SOURCE, v1::REFUSAL_REASON_TOO_LARGE}) {
    reading.Counter("tributary_frames_malformed_total", "Frames refused for their structure, before fusion.",
                    With(site, "reason", wire::EnumLabel(reason)), refused_on_wire_[reason].load());
  }
  CollectCounters(engine_->counters(), site, reading);
  for (const fusion::LeafStatus& leaf : engine_->leaves()) {
    const runtime::MetricLabels labels = With(site, "leaf", leaf.name);
    reading.Counter("tributary_leaf_missed_slots_total", "Slots fused without this leaf.", labels,
                    leaf.missed_slots);
    reading.Gauge("tributary_leaf_absent", "1 while slots do not wait for this leaf.", labels, leaf.absent);
  }
  for (const fusion::SourceStatus& source : engine_->sources()) {
    CollectSource(source, With(site, "source", source.name), reading);
  }
}

std::vector<std::string> SiteTable::names() const {
  std::vector<std::string> names;
  for (const std::unique_ptr<Site>& site : sites_) names.push_back(site->name());
  return names;
}

Site* SiteTable::Find(std::string_view name) const {
  const auto found = std::ranges::find(sites_, name, [](const auto& site) { return site->name(); });
  return found == sites_.end() ? nullptr : found->get();
}

absl::Status SiteTable::Unknown(std::string_view name) const {
  return absl::NotFoundError(fmt::format("\"{}\" is not a site of this aggregator, which has {}", name,
                                         sites_.empty() ? "no sites" : absl::StrJoin(names(), ", ")));
}

}  // namespace tributary::publish
