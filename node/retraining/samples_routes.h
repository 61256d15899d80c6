// What a node's HTTP says of its panels that learn, and takes for them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/http/http_server.h"
#include "node/retraining/beacon_retrainer.h"

namespace tributary::retraining {

// Those that take samples by HTTP, by panel. Each outlives the server.
using Retrainers = std::map<std::string, BeaconRetrainer*>;

// POST /api/v1/panels/{panel}/samples: lines of text/csv (samples_text.h), at most 64 KiB. 202 with how many
// were taken and how many wait; 400 names line and column, and nothing of the body was taken; 403 for a
// caller beyond this machine; 404 for another panel; 429 while too many wait.
// GET /api/v1/panels/{panel}/retraining: counters, state.
void AddSamplesRoutes(http::HttpServer& server, Retrainers retrainers);

}  // namespace tributary::retraining
