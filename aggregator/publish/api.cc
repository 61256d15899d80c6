#include "aggregator/publish/api.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "aggregator/publish/readiness.h"
#include "aggregator/publish/site_pages.h"
#include "aggregator/publish/slot_events.h"
#include "core/http/query.h"
#include "core/wire/json.h"
#include "tributary/v1/fleet.pb.h"

namespace tributary::publish {
namespace {

http::HttpResponse NodesPage(const AggregatorState& state, const http::HttpRequest& request) {
  const absl::StatusOr<std::uint64_t> limit =
      http::IntegerParameter(request, "limit", 0, 0, kMostNodesOfPage);
  if (!limit.ok()) return http::HttpProblem(400, std::string(limit.status().message()));
  v1::ListNodesRequest wanted;
  wanted.set_site(request.Parameter("site"));
  wanted.set_after_site(request.Parameter("after_site"));
  wanted.set_after_node(request.Parameter("after_node"));
  wanted.set_limit(static_cast<std::uint32_t>(*limit));
  const absl::StatusOr<v1::ListNodesResponse> known = ListNodes(state, wanted);
  return known.ok() ? http::HttpJson(wire::MessageJson(*known))
                    : http::HttpProblem(404, std::string(known.status().message()));
}

}  // namespace

void AddApiRoutes(http::HttpServer& server, const AggregatorState& state) {
  const SiteTable& sites = state.sites;
  server.Route("/readyz",
               [&state](const http::HttpRequest& request) {
                 return AnswerReadiness(state, request.Parameter("site"));
               },
               {"site"});
  server.Route("/api/v1/sites",
               [&sites](const http::HttpRequest& request) { return SitesPage(sites, request); },
               {"after_site", "limit"});
  server.Route("/api/v1/sites/",
               [&state](const http::HttpRequest& request) { return SitePage(state, request); },
               {"subject", "receiver", "epoch"});
  server.Route("/api/v1/nodes",
               [&state](const http::HttpRequest& request) { return NodesPage(state, request); },
               {"site", "after_site", "after_node", "limit"});
  server.Route(
      "/api/v1/events",
      [&sites, start = fmt::format("{:x}", state.clock.UnixNs()), texts = std::make_shared<SlotText>()](
          const http::HttpRequest& request) { return WatchEvents(sites, start, texts, request); },
      {"site", "rate_hz", "subjects", "contributions", "truth"});
}

}  // namespace tributary::publish
