// What HTTP answers about sites.
#pragma once

#include "aggregator/publish/aggregator_state.h"
#include "core/http/http_server.h"

namespace tributary::publish {

// GET /api/v1/sites: a page of them.
http::HttpResponse SitesPage(const SiteTable& sites, const http::HttpRequest& request);

// GET /api/v1/sites/{site} and below: `request.rest` is "SITE" or "SITE/room", "SITE/flow" and so on. 404 for
// all else, naming what there is.
http::HttpResponse SitePage(const AggregatorState& state, const http::HttpRequest& request);

}  // namespace tributary::publish
