// Whether an aggregator takes streams, and how complete its output is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/fusion/engine.h"
#include "aggregator/publish/fleet.h"
#include "aggregator/publish/slot_feed.h"
#include "core/http/http_server.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"

namespace tributary::publish {

// One site, as it is published. The engine outlives the readers.
struct PublishedSite {
  const fusion::FusionEngine* engine;
  std::shared_ptr<const SiteBoard> board;

  const std::string& name() const { return engine->config().name; }
};

// 404; names the known sites.
http::HttpResponse NoSuchSite(std::string_view name, const std::vector<PublishedSite>& known);

// The state of an expected source: connected and in the slots, connected but not in them, or without a
// connected node.
enum class SourcePresence : std::uint8_t { kPresent, kSilent, kAbsent };
// The state of a site: everything is there; some sources are missing; no source is present, or no slot comes.
enum class SiteCondition : std::uint8_t { kOk, kDegraded, kSilent };

std::string_view SourcePresenceName(SourcePresence presence);  // "present" …
std::string_view SiteConditionName(SiteCondition condition);   // "ok" …

struct SourceReadiness {
  std::string name;
  SourcePresence presence = SourcePresence::kAbsent;
  std::uint32_t missed_in_a_row = 0;  // slots fused without it since the last one with it
};

struct SiteReadiness {
  std::string name;
  SiteCondition condition = SiteCondition::kSilent;
  Fleet::Count nodes;
  std::vector<SourceReadiness> sources;            // in the order of the configuration
  std::optional<std::int64_t> since_last_slot_ns;  // none yet

  std::size_t present() const;
};

// A connected source is silent after this many slots in a row without it: 0.1 s at 2,000 slots/s, 20 s at 10.
// The whole site is silent when no slot comes for this time and the length of two slots.
inline constexpr std::uint32_t kSilentAfterSlots = 200;
inline constexpr std::int64_t kSilentAfterNs = 10'000'000'000;

// `last_slot_unix_ns`: the time of the latest slot's fusion.
SiteReadiness JudgeSite(const fusion::FusionEngine& engine, const Fleet& fleet,
                        std::optional<std::int64_t> last_slot_unix_ns, std::int64_t now_unix_ns);

// The readiness of one aggregator. Thread-safe, as its parts are, which outlive it.
class Readiness {
 public:
  struct Parts {
    std::function<bool()> takes_streams;
    std::function<bool()> store_healthy;  // empty: there is no store
    const Fleet* fleet = nullptr;
    const runtime::Clock* clock = nullptr;
    std::vector<PublishedSite> sites = {};
  };
  explicit Readiness(Parts parts) : parts_(std::move(parts)) {}

  const std::vector<PublishedSite>& sites() const { return parts_.sites; }

  // With an empty `site`: 200 while streams are taken, else 503; the body has the state of every site. A site
  // without nodes must not make a load balancer send its nodes elsewhere. With a `site`: also 503 if the site
  // is silent, 404 if it is unknown.
  http::HttpResponse Answer(const std::string& site) const;

  // Expected and present sources, and the age of the latest slot, of each site. This object outlives the
  // metrics' last reader.
  void Register(runtime::Metrics& metrics) const;

 private:
  SiteReadiness Judge(const PublishedSite& site) const;

  const Parts parts_;
};

}  // namespace tributary::publish
