#include "aggregator/publish/readiness.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "core/wire/json.h"

namespace tributary::publish {
namespace {

using Json = nlohmann::ordered_json;

Json SiteStateJson(const SiteReadiness& site) {
  Json sources = Json::array();
  for (const SourceReadiness& source : site.sources) {
    sources.push_back({{"name", source.name},
                       {"state", SourcePresenceName(source.presence)},
                       {"missed_slots_in_a_row", source.missed_in_a_row}});
  }
  Json value = {{"name", site.name},
                {"state", SiteConditionName(site.condition)},
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
  return {status, "application/json", wire::DumpJson(value) + "\n"};
}

}  // namespace

http::HttpResponse NoSuchSite(std::string_view name, const std::vector<PublishedSite>& known) {
  std::vector<std::string> names;
  for (const PublishedSite& each : known) names.push_back(each.name());
  return http::HttpProblem(404, std::string(UnknownSite(name, names).message()));
}

std::string_view SourcePresenceName(SourcePresence presence) {
  constexpr std::array<std::string_view, 3> kNames = {"present", "silent", "absent"};
  return kNames[static_cast<std::size_t>(presence)];
}

std::string_view SiteConditionName(SiteCondition condition) {
  constexpr std::array<std::string_view, 3> kNames = {"ok", "degraded", "silent"};
  return kNames[static_cast<std::size_t>(condition)];
}

std::size_t SiteReadiness::present() const {
  return static_cast<std::size_t>(
      std::ranges::count(sources, SourcePresence::kPresent, &SourceReadiness::presence));
}

SiteReadiness JudgeSite(const fusion::FusionEngine& engine, const Fleet& fleet,
                        std::optional<std::int64_t> last_slot_unix_ns, std::int64_t now_unix_ns) {
  SiteReadiness site;
  site.name = engine.config().name;
  site.nodes = fleet.CountNodes(site.name);
  // A clock that was set back must not put a slot into the future.
  if (last_slot_unix_ns)
    site.since_last_slot_ns = std::max<std::int64_t>(now_unix_ns - *last_slot_unix_ns, 0);
  // Two slots may lie between two fusions: the one that fills and the one that waits for its deadline.
  const std::int64_t patience_ns = kSilentAfterNs + 2 * engine.config().slot.ns();
  const bool flows = site.since_last_slot_ns && *site.since_last_slot_ns <= patience_ns;
  const std::set<std::string> connected = fleet.ConnectedLeaves(site.name);
  for (const fusion::LeafStatus& leaf : engine.leaves()) {
    SourcePresence presence = SourcePresence::kPresent;
    if (!flows || leaf.missed_in_a_row >= kSilentAfterSlots) presence = SourcePresence::kSilent;
    if (!connected.contains(leaf.name)) presence = SourcePresence::kAbsent;
    site.sources.push_back({leaf.name, presence, leaf.missed_in_a_row});
  }
  site.condition = site.present() == site.sources.size() ? SiteCondition::kOk : SiteCondition::kDegraded;
  if (site.present() == 0) site.condition = SiteCondition::kSilent;
  return site;
}

SiteReadiness Readiness::Judge(const PublishedSite& site) const {
  const std::optional<BoardSlot> latest = site.board->Latest();
  return JudgeSite(*site.engine, *parts_.fleet,
                   latest ? std::optional(latest->slot.fused_unix_ns) : std::nullopt, parts_.clock->UnixNs());
}

http::HttpResponse Readiness::Answer(const std::string& wanted) const {
  const bool ready = parts_.takes_streams();
  const bool store_healthy = !parts_.store_healthy || parts_.store_healthy();
  std::size_t silent = 0;
  std::size_t ok = 0;
  Json sites = Json::array();
  for (const PublishedSite& each : parts_.sites) {
    const SiteReadiness site = Judge(each);
    if (wanted == site.name) {
      return Respond(ready && site.condition != SiteCondition::kSilent ? 200 : 503, SiteStateJson(site));
    }
    silent += site.condition == SiteCondition::kSilent;
    ok += site.condition == SiteCondition::kOk;
    sites.push_back(SiteStateJson(site));
  }
  if (!wanted.empty()) return NoSuchSite(wanted, parts_.sites);
  std::string_view state = "ok";
  if (ok < parts_.sites.size() || !store_healthy) state = "degraded";
  if (!parts_.sites.empty() && silent == parts_.sites.size()) state = "silent";
  if (!ready) state = "stopping";
  Json value = {{"state", state}, {"takes_streams", ready}, {"sites", std::move(sites)}};
  if (parts_.store_healthy) value["store_healthy"] = store_healthy;
  return Respond(ready ? 200 : 503, value);
}

void Readiness::Register(runtime::Metrics& metrics) const {
  for (const PublishedSite& each : parts_.sites) {
    const runtime::MetricLabels labels = {{"site", each.name()}};
    const auto gauge = [&](const char* name, const char* help,
                           std::function<double(const SiteReadiness&)> read) {
      metrics.AddGaugeCallback(name, help, labels,
                               [this, each, read = std::move(read)] { return read(Judge(each)); });
    };
    gauge("tributary_sources_expected", "Sources that the site is configured with.",
          [](const SiteReadiness& site) { return static_cast<double>(site.sources.size()); });
    gauge("tributary_sources_present",
          "Expected sources that a connected node reports and that are in the slots.",
          [](const SiteReadiness& site) { return static_cast<double>(site.present()); });
    gauge("tributary_nodes_connected", "Nodes that report to the site now.",
          [](const SiteReadiness& site) { return static_cast<double>(site.nodes.connected); });
    gauge("tributary_nodes_known", "Nodes that have reported to the site since the start.",
          [](const SiteReadiness& site) { return static_cast<double>(site.nodes.known); });
    gauge("tributary_last_slot_age_seconds", "Time since the latest slot was fused; NaN before the first.",
          [](const SiteReadiness& site) {
            return site.since_last_slot_ns ? 1e-9 * static_cast<double>(*site.since_last_slot_ns)
                                           : std::numeric_limits<double>::quiet_NaN();
          });
  }
}

}  // namespace tributary::publish
