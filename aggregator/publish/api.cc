#include "aggregator/publish/api.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "aggregator/publish/readiness.h"
#include "core/wire/convert.h"
#include "core/wire/json.h"
#include "tributary/v1/fleet.pb.h"

namespace tributary::publish {
namespace {

constexpr double kDefaultEventRateHz = 10;
constexpr double kMaxEventRateHz = 50;

http::HttpResponse Answer(const google::protobuf::Message& message) {
  return http::HttpJson(wire::MessageJson(message));
}

http::HttpResponse NoSuchSite(const SiteTable& sites, const std::string& name) {
  return http::HttpProblem(404, std::string(sites.Unknown(name).message()));
}

v1::WatchResponse SlotOf(const Site& site, const BoardSlot& latest) {
  return wire::SlotMessage(site.description(), latest.slot, latest.skipped);
}

void SetByReason(const fusion::ReasonCounts& counts,
                 google::protobuf::Map<std::string, std::uint64_t>& reasons) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    reasons[wire::EnumLabel(static_cast<v1::RefusalReason>(i))] = counts[i];
  }
}

void SetCounters(const fusion::FusionCounters& from, v1::SiteCounters& to) {
  to.set_accepted_frames(from.frames_accepted);
  to.set_refused_frames(fusion::Sum(from.frames_refused));
  SetByReason(from.frames_refused, *to.mutable_refused_frames_by_reason());
  to.set_accepted_tuples(from.tuples_accepted);
  to.set_refused_tuples(fusion::Sum(from.tuples_refused));
  SetByReason(from.tuples_refused, *to.mutable_refused_tuples_by_reason());
  to.set_fused_tuples(from.tuples_fused);
  to.set_complete_slots(from.slots_complete);
  to.set_deadline_slots(from.slots_at_deadline);
  to.set_evicted_slots(from.slots_evicted);
  to.set_revisions(from.revisions);
  to.set_open_slots(from.open_slots);
}

v1::Site SiteMessage(const fusion::FusionEngine& engine) {
  const fusion::SiteConfig& config = engine.config();
  v1::Site site;
  site.set_name(config.name);
  site.set_dimension(config.dimension);
  site.mutable_classes()->Assign(config.classes.begin(), config.classes.end());
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

http::HttpResponse Sites(const SiteTable& sites) {
  v1::ListSitesResponse response;
  for (const auto& site : sites.all()) *response.add_sites() = SiteMessage(site->engine());
  return Answer(response);
}

http::HttpResponse LatestOfSite(const SiteTable& sites, const std::string& name) {
  const Site* site = sites.Find(name);
  if (site == nullptr) return NoSuchSite(sites, name);
  const std::optional<BoardSlot> latest = site->board().Latest();
  if (!latest) return {204, "application/json", ""};
  return Answer(SlotOf(*site, *latest));
}

http::HttpAnswer Events(const SiteTable& sites, const http::HttpRequest& request) {
  const std::string name = request.Parameter("site");
  // With one site there is nothing to choose.
  const Site* site = name.empty() && sites.all().size() == 1 ? sites.all().front().get() : sites.Find(name);
  if (site == nullptr) return NoSuchSite(sites, name);
  double rate_hz = kDefaultEventRateHz;
  const std::string rate = request.Parameter("rate_hz");
  if (!rate.empty() &&
      (!absl::SimpleAtod(rate, &rate_hz) || !(rate_hz >= 0.01 && rate_hz <= kMaxEventRateHz))) {
    return http::HttpProblem(400, "rate_hz: expected a number from 0.01 to 50");
  }
  http::HttpEventStream stream;
  stream.interval = std::chrono::microseconds(std::llround(1e6 / rate_hz));
  stream.next = [site, seen = std::uint64_t{0}]() mutable -> std::optional<std::string> {
    const std::optional<BoardSlot> latest = site->board().LatestAfter(seen);
    if (!latest) return std::nullopt;
    return wire::MessageJson(SlotOf(*site, *latest));
  };
  return stream;
}

}  // namespace

void AddApiRoutes(http::HttpServer& server, const AggregatorState& state) {
  const SiteTable& sites = state.sites;
  server.Route("/readyz",
               [&state](const http::HttpRequest& request) {
                 return AnswerReadiness(state, request.Parameter("site"));
               },
               {"site"});
  server.Route("/api/v1/sites", [&sites](const http::HttpRequest&) { return Sites(sites); });
  server.Route("/api/v1/sites/",
               [&sites](const http::HttpRequest& request) { return LatestOfSite(sites, request.rest); });
  server.Route("/api/v1/nodes",
               [&state](const http::HttpRequest& request) {
                 v1::ListNodesRequest wanted;
                 wanted.set_site(request.Parameter("site"));
                 wanted.set_after_site(request.Parameter("after_site"));
                 wanted.set_after_node(request.Parameter("after_node"));
                 const absl::StatusOr<v1::ListNodesResponse> known = ListNodes(state, wanted);
                 return known.ok() ? Answer(*known)
                                   : http::HttpProblem(404, std::string(known.status().message()));
               },
               {"site", "after_site", "after_node"});
  server.Route("/api/v1/events",
               [&sites](const http::HttpRequest& request) { return Events(sites, request); },
               {"site", "rate_hz"});
}

}  // namespace tributary::publish
