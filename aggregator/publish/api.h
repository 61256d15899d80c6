// The HTTP interface of the aggregator.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "aggregator/fusion/engine.h"
#include "aggregator/publish/fleet.h"
#include "aggregator/publish/site_board.h"
#include "core/runtime/http_server.h"
#include "core/runtime/metrics.h"

namespace tributary {

// One site, as it is published.
struct PublishedSite {
  const FusionEngine* engine;
  std::shared_ptr<const SiteBoard> board;
};

// Everything outlives the server.
struct ApiContext {
  std::vector<PublishedSite> sites;
  const Fleet* fleet;
  std::function<std::string()> metrics_text;
  std::function<bool()> ready;
};

// GET /metrics                             Prometheus text
// GET /healthz, /readyz                    200 "ok", or 503
// GET /api/v1/sites                        all sites: configuration, counters, sources, leaves
// GET /api/v1/sites/{site}                 the latest fused slot; 404 unknown site, 204 none yet
// GET /api/v1/nodes?site=                  who reports
// GET /api/v1/events?site=&rate_hz=        server-sent events of the latest fused slot; 10 Hz unless asked,
// at most 50
void AddApiRoutes(HttpServer& server, ApiContext context);

}  // namespace tributary
