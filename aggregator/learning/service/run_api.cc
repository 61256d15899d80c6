#include "aggregator/learning/service/run_api.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/numbers.h"
#include "aggregator/learning/service/run_message.h"
#include "core/status/macros.h"
#include "core/wire/message_json.h"

namespace tributary::learning {
namespace {

http::HttpResponse Answer(const google::protobuf::Message& message) {
  return {200, "application/json", wire::MessageJson(message) + "\n"};
}

http::HttpResponse Problem(const absl::Status& status) {
  const std::string message(status.message());
  if (absl::IsInvalidArgument(status)) return http::HttpProblem(400, message);
  return http::HttpProblem(absl::IsNotFound(status) ? 404 : 500, message);
}

// `value` stays as it is if the parameter is absent.
template <class Integer>
absl::Status ReadCount(const http::HttpRequest& request, const std::string& key, Integer& value) {
  const auto found = request.query.find(key);
  if (found == request.query.end()) return absl::OkStatus();
  if (absl::SimpleAtoi(found->second, &value) && value >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{}: expected an integer from 0 to {}, found \"{}\"", key,
                                                std::numeric_limits<Integer>::max(), found->second));
}

}  // namespace

absl::StatusOr<v1::GetRunRequest> GetRunRequestOf(const http::HttpRequest& request) {
  std::uint32_t rounds = 0, nodes = 0;
  std::int64_t before = 0;
  RETURN_IF_ERROR(ReadCount(request, "rounds", rounds));
  RETURN_IF_ERROR(ReadCount(request, "before", before));
  RETURN_IF_ERROR(ReadCount(request, "nodes", nodes));
  v1::GetRunRequest wanted;
  wanted.set_run(request.rest);
  wanted.set_rounds(rounds);
  wanted.set_before(before);
  wanted.set_nodes(nodes);
  if (const auto after = request.query.find("after_node"); after != request.query.end()) {
    wanted.set_after_node(after->second);
  }
  return wanted;
}

void AddRunRoutes(http::HttpServer& server, const RunBoard& board, const Relay* relay) {
  server.Route("/api/v1/runs",
               [&board, relay](const http::HttpRequest&) { return Answer(ListRuns(board, relay)); });
  server.Route("/api/v1/runs/", [&board](const http::HttpRequest& request) {
    const absl::StatusOr<v1::GetRunRequest> wanted = GetRunRequestOf(request);
    if (!wanted.ok()) return Problem(wanted.status());
    const absl::StatusOr<v1::GetRunResponse> run = DescribeRun(board, *wanted);
    return run.ok() ? Answer(*run) : Problem(run.status());
  });
}

}  // namespace tributary::learning
