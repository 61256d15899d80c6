// The fused slots of a site as server-sent events.
#pragma once

#include <string>

#include "aggregator/publish/site.h"
#include "core/http/http_server.h"

namespace tributary::publish {

// What GET /api/v1/events takes, beside the names of AddApiRoutes' table. `start` tells the ids of this
// process from those of another: a reader that resumes with an id of this one is told how many slots it
// missed.
http::HttpAnswer WatchEvents(const SiteTable& sites, const std::string& start,
                             const http::HttpRequest& request);

}  // namespace tributary::publish
