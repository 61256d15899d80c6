// The runs on the aggregator's HTTP interface.
#pragma once

#include <nlohmann/json.hpp>

#include "aggregator/learning/relay/relay.h"
#include "aggregator/learning/service/run_board.h"
#include "core/http/http_server.h"

namespace tributary::learning {

// GET /api/v1/runs          all runs, without their history; with `relay`, how it stands with the parent
// GET /api/v1/runs/{run}    one run with its history and its nodes; 404 unknown run
// Board and relay outlive the server.
void AddRunRoutes(http::HttpServer& server, const RunBoard& board, const Relay* relay = nullptr);

nlohmann::json RunSummaryJson(const v1::Run& run);
nlohmann::json RunDetailsJson(const v1::GetRunResponse& response);

}  // namespace tributary::learning
