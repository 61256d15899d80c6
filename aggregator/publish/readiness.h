// Whether an aggregator takes streams, and how complete what it publishes is.
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
#include "aggregator/publish/site_board.h"
#include "core/http/http_server.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"

namespace tributary::publish {

// A source that the site expects: connected and in the slots, connected but not in them, or without a
// connected node.
enum class SourcePresence : std::uint8_t { kPresent, kSilent, kAbsent };
// Everything is there; some sources are missing; no source is present, or no slot comes.
enum class SiteCondition : std::uint8_t { kOk, kDegraded, kSilent };

std::string_view SourcePresenceName(SourcePresence presence);  // "present" …
std::string_view SiteConditionName(SiteCondition condition);   // "ok" …

struct SourceReadiness {
  std::string name;
  SourcePresence presence = SourcePresence::kAbsent;
  std::uint32_t missed_in_a_row = 0;  // slots fused without it since it was last in one
};

struct SiteReadiness {
  std::string name;
  SiteCondition condition = SiteCondition::kSilent;
  Fleet::Count nodes;
  std::vector<SourceReadiness> sources;            // in the order of the configuration
  std::optional<std::int64_t> since_last_slot_ns;  // none yet

  std::size_t present() const;
};

// With so many slots in a row fused without it, a connected source is silent: 0.1 s at 2,000 slots/s, 20 s at
// 10. Without a slot for so long, beyond the length of two, the whole site is.
inline constexpr std::uint32_t kSilentAfterSlots = 200;
inline constexpr std::int64_t kSilentAfterNs = 10'000'000'000;

// `last_slot_unix_ns`: when the latest slot was fused.
SiteReadiness JudgeSite(const fusion::FusionEngine& engine, const Fleet& fleet,
                        std::optional<std::int64_t> last_slot_unix_ns, std::int64_t now_unix_ns);

// Of one aggregator. Thread-safe, as its parts are, which outlive it.
class Readiness {
 public:
  struct Parts {
    std::function<bool()> takes_streams;
    std::function<bool()> store_healthy;  // empty: there is no store
    const Fleet* fleet = nullptr;
    const runtime::Clock* clock = nullptr;
  };
  explicit Readiness(Parts parts) : parts_(std::move(parts)) {}

  void Add(const fusion::FusionEngine& engine, std::shared_ptr<const SiteBoard> board);

  // `site` empty: 200 while streams are taken, else 503; the body tells the state of every site. A site that
  // no node reports to must not make a load balancer send its nodes elsewhere. Otherwise of this site: 503
  // also if it is silent, 404 if it is unknown.
  http::HttpResponse Answer(const std::string& site) const;

  // Expected and present sources, and the age of the latest slot, of each site. This object outlives the
  // metrics' last reader.
  void Register(runtime::Metrics& metrics) const;

 private:
  struct Published {
    const fusion::FusionEngine* engine;
    std::shared_ptr<const SiteBoard> board;
  };
  SiteReadiness Judge(const Published& site) const;

  const Parts parts_;
  std::vector<Published> sites_;
};

}  // namespace tributary::publish
