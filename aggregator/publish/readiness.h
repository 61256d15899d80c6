// Whether an aggregator takes streams, and how complete its output is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/publish/aggregator_state.h"
#include "core/http/http_server.h"
#include "core/runtime/metrics.h"

namespace tributary::publish {

// The states of an expected source: connected and in the slots, connected but not in them, or without a
// connected node.
inline constexpr std::string_view kPresent = "present", kSilent = "silent", kAbsent = "absent";
// The states of a site: everything is there; some sources are missing; kSilent: no source is present, or no
// slot comes.
inline constexpr std::string_view kOk = "ok", kDegraded = "degraded";

struct SourceReadiness {
  std::string name;
  std::string_view state;
  std::uint32_t missed_in_a_row = 0;  // slots fused without it since the last one with it
};

struct SiteReadiness {
  std::string name;
  std::string_view state;
  Fleet::Presence nodes;
  std::vector<SourceReadiness> sources;            // in the order of the configuration
  std::optional<std::int64_t> since_last_slot_ns;  // none yet

  std::size_t ready_sources = 1;  // SiteAccount's

  std::size_t present() const;
  // As many sources are present as the site needs.
  bool ready() const;
};

// A connected source is silent after this many slots in a row without it: 0.1 s at 2,000 slots/s, 20 s at 10.
// The whole site is silent when no slot comes for this time and the length of two slots.
inline constexpr std::uint32_t kSilentAfterSlots = 200;
inline constexpr std::int64_t kSilentAfterNs = 10'000'000'000;

// `last_slot_unix_ns`: the time of the latest slot's fusion.
SiteReadiness JudgeSite(const fusion::FusionEngine& engine, const Fleet& fleet,
                        std::optional<std::int64_t> last_slot_unix_ns, std::int64_t now_unix_ns);

// With an empty `site`: 200 while streams are taken, else 503; the body has the state of every site. A site
// without nodes must not make a load balancer send its nodes elsewhere. With a `site`: also 503 if the site
// is not ready, 404 if it is unknown.
http::HttpResponse AnswerReadiness(const AggregatorState& state, const std::string& site);

// Expected and present sources, and the age of the latest slot, of each site, as metrics.
void CollectReadiness(const AggregatorState& state, runtime::Reading& reading);

}  // namespace tributary::publish
