#include "aggregator/publish/readiness.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/wire/json.h"

namespace tributary::publish {
namespace {

using Json = nlohmann::ordered_json;

Json SiteStateJson(const SiteReadiness& site) {
  Json sources = Json::array();
  for (const SourceReadiness& source : site.sources) {
    sources.push_back(
        {{"name", source.name}, {"state", source.state}, {"missed_slots_in_a_row", source.missed_in_a_row}});
  }
  Json value = {{"name", site.name},
                {"state", site.state},
                {"ready", site.ready()},
                {"expected_sources", site.sources.size()},
                {"present_sources", site.present()},
                {"connected_nodes", site.nodes.connected},
                {"known_nodes", site.nodes.known},
                {"seconds_since_last_slot", nullptr},
                {"sources", std::move(sources)}};
  if (site.since_last_slot_ns) {
    value["seconds_since_last_slot"] = 1e-9 * static_cast<double>(*site.since_last_slot_ns);
  }
  return value;
}

http::HttpResponse Respond(int status, const Json& value) {
  return http::HttpJson(wire::DumpJson(value), status);
}

SiteReadiness Judge(const AggregatorState& state, const Site& site) {
  const std::optional<BoardSlot> latest = site.board().Latest();
  SiteReadiness judged =
      JudgeSite(site.engine(), state.fleet, latest ? std::optional(latest->slot.fused_unix_ns) : std::nullopt,
                state.clock.UnixNs());
  judged.ready_sources = site.account()->ready_sources;
  return judged;
}

}  // namespace

std::size_t SiteReadiness::present() const {
  return static_cast<std::size_t>(std::ranges::count(sources, kPresent, &SourceReadiness::state));
}

bool SiteReadiness::ready() const {
  const std::size_t needed = ready_sources == 0 ? sources.size() : std::min(ready_sources, sources.size());
  return state != kSilent && present() >= needed;
}

SiteReadiness JudgeSite(const fusion::FusionEngine& engine, const Fleet& fleet,
                        std::optional<std::int64_t> last_slot_unix_ns, std::int64_t now_unix_ns) {
  SiteReadiness site;
  site.name = engine.config().name;
  site.nodes = fleet.PresenceIn(site.name);
  // A clock that was set back must not put a slot into the future.
  if (last_slot_unix_ns)
    site.since_last_slot_ns = std::max<std::int64_t>(now_unix_ns - *last_slot_unix_ns, 0);
  // Two slots may lie between two fusions: the one that fills and the one that waits for its deadline.
  const std::int64_t patience_ns = kSilentAfterNs + 2 * engine.config().slot.ns();
  const bool flows = site.since_last_slot_ns && *site.since_last_slot_ns <= patience_ns;
  for (const fusion::LeafStatus& leaf : engine.leaves()) {
    std::string_view state = kPresent;
    if (!flows || leaf.missed_in_a_row >= kSilentAfterSlots) state = kSilent;
    if (!site.nodes.leaves.contains(leaf.name)) state = kAbsent;
    site.sources.push_back({leaf.name, state, leaf.missed_in_a_row});
  }
  site.state = site.present() == site.sources.size() ? kOk : kDegraded;
  if (site.present() == 0) site.state = kSilent;
  return site;
}

http::HttpResponse AnswerReadiness(const AggregatorState& state, const std::string& wanted) {
  const bool ready = state.takes_streams();
  const bool store_healthy = !state.store_healthy || state.store_healthy();
  std::size_t silent = 0;
  std::size_t ok = 0;
  Json sites = Json::array();
  for (const auto& each : state.sites.all()) {
    const SiteReadiness site = Judge(state, *each);
    if (wanted == site.name) return Respond(ready && site.ready() ? 200 : 503, SiteStateJson(site));
    silent += site.state == kSilent;
    ok += site.state == kOk;
    sites.push_back(SiteStateJson(site));
  }
  if (!wanted.empty()) return http::HttpProblem(404, std::string(state.sites.Unknown(wanted).message()));
  std::string_view whole = kOk;
  if (ok < sites.size() || !store_healthy) whole = kDegraded;
  if (!sites.empty() && silent == sites.size()) whole = kSilent;
  if (!ready) whole = "stopping";
  Json value = {{"state", whole}, {"takes_streams", ready}, {"sites", std::move(sites)}};
  if (state.store_healthy) value["store_healthy"] = store_healthy;
  return Respond(ready ? 200 : 503, value);
}

void CollectReadiness(const AggregatorState& state, runtime::Reading& reading) {
  for (const auto& each : state.sites.all()) {
    const SiteReadiness site = Judge(state, *each);
    const auto gauge = [&](const char* name, const char* help, double value) {
      reading.Gauge(name, help, {{"site", site.name}}, value);
    };
    gauge("tributary_sources_expected", "Sources that the site is configured with.",
          static_cast<double>(site.sources.size()));
    gauge("tributary_sources_present",
          "Expected sources that a connected node reports and that are in the slots.",
          static_cast<double>(site.present()));
    for (const SourceReadiness& source : site.sources) {
      reading.Gauge("tributary_leaf_present", "1 while a connected node reports it and it is in the slots.",
                    {{"site", site.name}, {"leaf", source.name}}, source.state == kPresent ? 1 : 0);
    }
    gauge("tributary_nodes_connected", "Nodes that report to the site now.",
          static_cast<double>(site.nodes.connected));
    gauge("tributary_nodes_known", "Nodes that have reported to the site since the start.",
          static_cast<double>(site.nodes.known));
    gauge("tributary_last_slot_age_seconds", "Time since the latest slot was fused; NaN before the first.",
          site.since_last_slot_ns ? 1e-9 * static_cast<double>(*site.since_last_slot_ns)
                                  : std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace tributary::publish
