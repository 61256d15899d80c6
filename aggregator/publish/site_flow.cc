#include "aggregator/publish/site_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/wire/json.h"

namespace tributary::publish {
namespace {

constexpr std::string_view kRefused = "refused";

std::string ReasonLabel(std::size_t reason) {
  return wire::EnumLabel(static_cast<v1::RefusalReason>(reason));
}

void Add(v1::FlowAccount& account, std::string_view place, std::string_view reason, std::uint64_t count,
         std::string_view metric) {
  v1::FlowEntry& entry = *account.add_entries();
  entry.set_place(std::string(place));
  entry.set_reason(std::string(reason));
  entry.set_count(count);
  entry.set_metric(reason.empty() || metric.empty() ? std::string(metric)
                                                    : fmt::format("{}{{reason=\"{}\"}}", metric, reason));
  account.set_total(account.total() + count);
}

// Reasons that occurred, but for one.
void AddReasons(v1::FlowAccount& account, const fusion::ReasonCounts& counts, std::string_view metric,
                fusion::RefusalReason but = fusion::RefusalReason::kUnspecified) {
  for (std::size_t i = 1; i < counts.size(); ++i) {
    if (counts[i] > 0 && i != static_cast<std::size_t>(but)) {
      Add(account, kRefused, ReasonLabel(i), counts[i], metric);
    }
  }
}

}  // namespace

v1::SiteFlow FlowOf(const Site& site, const Fleet& fleet) {
  const fusion::FusionCounters counters = site.engine().counters();
  const std::uint64_t waiting = site.engine().OpenTuples();
  v1::SiteFlow flow;
  flow.set_site(site.name());

  v1::FlowAccount& frames = *flow.mutable_frames();
  Add(frames, "taken", "", counters.frames_accepted, "tributary_frames_accepted_total");
  AddReasons(frames, counters.frames_refused, "tributary_frames_refused_total");
  for (std::size_t i = 1; i < fusion::kRefusalReasons; ++i) {
    const std::uint64_t malformed = site.refused_on_wire(static_cast<v1::RefusalReason>(i));
    if (malformed > 0) Add(frames, kRefused, ReasonLabel(i), malformed, "tributary_frames_malformed_total");
  }
  const Fleet::Sent sent = fleet.SentTo(site.name());
  Add(frames, "dropped by nodes", "", sent.dropped_frames, "tributary_uplink_dropped_frames_total");
  Add(frames, "under way", "", sent.held_frames, "tributary_uplink_spool_frames");

  v1::FlowAccount& tuples = *flow.mutable_tuples();
  const std::uint64_t gated =
      counters.tuples_refused[static_cast<std::size_t>(fusion::RefusalReason::kGated)];
  const std::uint64_t left = counters.tuples_replaced + counters.tuples_redundant + gated + waiting;
  // Counters move while they are read.
  Add(tuples, "fused", "", counters.tuples_accepted - std::min(left, counters.tuples_accepted), "");
  Add(tuples, "replaced", "", counters.tuples_replaced, "tributary_tuples_replaced_total");
  Add(tuples, "redundant", "", counters.tuples_redundant, "tributary_tuples_redundant_total");
  Add(tuples, "waiting", "", waiting, "");
  if (gated > 0) {
    Add(tuples, kRefused, ReasonLabel(static_cast<std::size_t>(fusion::RefusalReason::kGated)), gated,
        "tributary_tuples_refused_total");
  }
  AddReasons(tuples, counters.tuples_refused, "tributary_tuples_refused_total",
             fusion::RefusalReason::kGated);
  return flow;
}

}  // namespace tributary::publish
