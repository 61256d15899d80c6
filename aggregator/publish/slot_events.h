// The fused slots of a site as server-sent events.
#pragma once

#include <memory>
#include <string>

#include "aggregator/publish/site.h"
#include "aggregator/publish/slot_text.h"
#include "core/http/http_server.h"

namespace tributary::publish {

// What GET /api/v1/events takes, beside the names of AddApiRoutes' table. `start` tells the ids of this
// process from those of another: a reader that resumes with an id of this one is told how many slots it
// missed. `texts`: what readers of whole slots share.
http::HttpAnswer WatchEvents(const SiteTable& sites, const std::string& start,
                             const std::shared_ptr<SlotText>& texts, const http::HttpRequest& request);

}  // namespace tributary::publish
