// The runs on the aggregator's HTTP interface.
#pragma once

#include "absl/status/statusor.h"
#include "aggregator/learning/relay/relay.h"
#include "aggregator/learning/service/run_board.h"
#include "core/http/http_server.h"
#include "tributary/v1/run.pb.h"

namespace tributary::learning {

// GET /api/v1/runs          ListRunsResponse; `parent` only with `relay`
// GET /api/v1/runs/{run}    GetRunResponse; the query has the other fields of GetRunRequest; 400 a bad value,
//                           404 unknown run
// Board and relay outlive the server.
void AddRunRoutes(http::HttpServer& server, const RunBoard& board, const Relay* relay = nullptr);

// InvalidArgument, naming the parameter: not an integer, negative or too large.
absl::StatusOr<v1::GetRunRequest> GetRunRequestOf(const http::HttpRequest& request);

}  // namespace tributary::learning
