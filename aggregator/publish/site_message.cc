#include "aggregator/publish/site_message.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>

namespace tributary::publish {
namespace {

using ReasonCounts = std::array<std::uint64_t, fusion::kRefusalReasons>;

std::uint64_t Sum(const ReasonCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void SetByReason(const ReasonCounts& counts, google::protobuf::Map<std::string, std::uint64_t>& reasons) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    reasons[std::string(fusion::RefusalReasonName(static_cast<fusion::RefusalReason>(i)))] = counts[i];
  }
}

void SetCounters(const fusion::FusionCounters& from, v1::SiteCounters& to) {
  to.set_accepted_frames(from.frames_accepted);
  to.set_refused_frames(Sum(from.frames_refused));
  SetByReason(from.frames_refused, *to.mutable_refused_frames_by_reason());
  to.set_accepted_tuples(from.tuples_accepted);
  to.set_refused_tuples(Sum(from.tuples_refused));
  SetByReason(from.tuples_refused, *to.mutable_refused_tuples_by_reason());
  to.set_fused_tuples(from.tuples_fused);
  to.set_complete_slots(from.slots_complete);
  to.set_deadline_slots(from.slots_at_deadline);
  to.set_evicted_slots(from.slots_evicted);
  to.set_revisions(from.revisions);
  to.set_open_slots(from.open_slots);
}

}  // namespace

v1::Site SiteMessage(const fusion::FusionEngine& engine) {
  const fusion::SiteConfig& config = engine.config();
  v1::Site site;
  site.set_name(config.name);
  site.set_dimension(static_cast<std::uint32_t>(config.dimension));
  site.set_slot_ns(static_cast<std::uint64_t>(config.slot.ns()));
  SetCounters(engine.counters(), *site.mutable_counters());
  for (const fusion::SourceStatus& each : engine.sources()) {
    v1::SiteSource& source = *site.add_sources();
    source.set_name(each.name);
    source.set_accepted_frames(each.frames_accepted);
    source.set_refused_frames(each.frames_refused);
    source.set_gated_tuples(each.tuples_gated);
    source.set_last_epoch(each.last_epoch);
    source.set_consistency(each.consistency);
  }
  for (const fusion::LeafStatus& each : engine.leaves()) {
    v1::SiteLeaf& leaf = *site.add_leaves();
    leaf.set_name(each.name);
    leaf.set_missed_slots(each.missed_slots);
    leaf.set_absent(each.absent);
  }
  return site;
}

}  // namespace tributary::publish
