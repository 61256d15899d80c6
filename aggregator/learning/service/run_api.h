// Runs, their nodes and models as operators get them, by calls and over HTTP.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/service/run_board.h"
#include "aggregator/store/records.h"
#include "core/http/http_server.h"
#include "tributary/v1/run.pb.h"

namespace tributary::learning {

class Relay;

v1::Model ModelMessage(const std::string& run, const store::ModelRecord& record, bool current);

// A page of the history in bytes is below gRPC's limit of 4 MiB for a message.
inline constexpr std::size_t kMaxHistoryBytes = std::size_t{2} << 20;

// The answers to GetRun and ListModels; the HTTP interface prints the same. Errors: NotFound; those of the
// store.
absl::StatusOr<v1::GetRunResponse> DescribeRun(const RunBoard& board, const v1::GetRunRequest& request);
absl::StatusOr<v1::ListModelsResponse> ListModels(const RunBoard& board,
                                                  const v1::ListModelsRequest& request);
// `relay`: null if there is no parent. NotFound: no run of the name to go on after.
absl::StatusOr<v1::ListRunsResponse> ListRuns(const RunBoard& board, const Relay* relay,
                                              const v1::ListRunsRequest& request);

// GET /api/v1/runs          ListRunsResponse; `parent` only with `relay`; the query has the fields of
//                           ListRunsRequest
// GET /api/v1/runs/{run}    GetRunResponse; the query has the other fields of GetRunRequest; 400 a bad value,
//                           404 unknown run
// Board and relay outlive the server.
void AddRunRoutes(http::HttpServer& server, const RunBoard& board, const Relay* relay = nullptr);
// The same paths of an aggregator without [federation]: 404, with what is missing.
void AddRoutesWithoutRuns(http::HttpServer& server);

// InvalidArgument, naming the parameter: not an integer, negative or too large.
absl::StatusOr<v1::GetRunRequest> GetRunRequestOf(const http::HttpRequest& request);
absl::StatusOr<v1::ListRunsRequest> ListRunsRequestOf(const http::HttpRequest& request);

}  // namespace tributary::learning
