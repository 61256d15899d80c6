#include "aggregator/publish/json.h"

#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "core/wire/record_json.h"

namespace tributary::publish {
namespace {

using Json = nlohmann::ordered_json;
using ReasonCounts = std::array<std::uint64_t, fusion::kRefusalReasons>;

std::uint64_t Sum(const ReasonCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Json ByReason(const ReasonCounts& counts) {
  Json reasons = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) {
      reasons[std::string(fusion::RefusalReasonName(static_cast<fusion::RefusalReason>(i)))] = counts[i];
    }
  }
  return reasons;
}

Json CountersJson(const fusion::FusionCounters& counters) {
  return {{"accepted_frames", counters.frames_accepted},
          {"refused_frames", Sum(counters.frames_refused)},
          {"refused_frames_by_reason", ByReason(counters.frames_refused)},
          {"accepted_tuples", counters.tuples_accepted},
          {"refused_tuples", Sum(counters.tuples_refused)},
          {"refused_tuples_by_reason", ByReason(counters.tuples_refused)},
          {"fused_tuples", counters.tuples_fused},
          {"complete_slots", counters.slots_complete},
          {"deadline_slots", counters.slots_at_deadline},
          {"evicted_slots", counters.slots_evicted},
          {"revisions", counters.revisions},
          {"open_slots", counters.open_slots}};
}

}  // namespace

Json SiteJson(const fusion::FusionEngine& engine) {
  const fusion::SiteConfig& config = engine.config();
  Json sources = Json::array();
  for (const fusion::SourceStatus& source : engine.sources()) {
    sources.push_back({{"name", source.name},
                       {"accepted_frames", source.frames_accepted},
                       {"refused_frames", source.frames_refused},
                       {"gated_tuples", source.tuples_gated},
                       {"last_epoch", wire::Exact(source.last_epoch)},
                       {"consistency", source.consistency}});
  }
  Json leaves = Json::array();
  for (const fusion::LeafStatus& leaf : engine.leaves()) {
    leaves.push_back({{"name", leaf.name}, {"missed_slots", leaf.missed_slots}, {"absent", leaf.absent}});
  }
  return {{"name", config.name},
          {"dimension", config.dimension},
          {"slot_ns", wire::Exact(config.slot.ns())},
          {"counters", CountersJson(engine.counters())},
          {"sources", std::move(sources)},
          {"leaves", std::move(leaves)}};
}

}  // namespace tributary::publish
