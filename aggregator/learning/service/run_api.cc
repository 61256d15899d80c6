#include "aggregator/learning/service/run_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "aggregator/learning/relay/relay.h"
#include "aggregator/learning/run/messages.h"
#include "core/http/query.h"
#include "core/status/macros.h"
#include "core/wire/json.h"

namespace tributary::learning {
namespace {

constexpr std::uint32_t kDefaultPage = 100;
constexpr std::uint32_t kLargestPage = 1'000;

std::size_t PageOf(std::uint32_t asked) { return asked == 0 ? kDefaultPage : std::min(asked, kLargestPage); }

// The last lines before `before`, as many as the page and a message hold.
absl::Status AddHistory(const RunBoard& board, const v1::GetRunRequest& request,
                        v1::GetRunResponse& response) {
  const std::size_t page = PageOf(request.rounds());
  ASSIGN_OR_RETURN(auto lines, board.store().LinesBefore(request.run(), request.before(), page + 1));
  bool earlier = lines.size() > page;
  if (earlier) lines.erase(lines.begin());
  std::size_t bytes = 0;
  auto first = lines.end();
  while (first != lines.begin() && bytes < kMaxHistoryBytes) bytes += (--first)->document.size();
  earlier = earlier || first != lines.begin();
  if (earlier) response.set_earlier(first->number);
  for (; first != lines.end(); ++first) {
    ASSIGN_OR_RETURN(*response.add_history(), ParseStored<v1::Round>(first->document, "history"));
  }
  return absl::OkStatus();
}

v1::Parent ParentMessage(const Relay& relay) {
  const Relay::Counters& counters = relay.counters();
  const absl::Status error = relay.client().last_error();
  v1::Parent parent;
  parent.set_aggregator(relay.parent().aggregator);
  parent.set_node(relay.parent().node);
  parent.set_state(relay.client().state());
  parent.set_message(error.ok() ? relay.client().waiting_for() : std::string(error.message()));
  parent.set_rounds(counters.rounds);
  parent.set_accepted_sums(counters.accepted);
  parent.set_refused_sums(counters.refused);
  parent.set_abandoned_rounds(counters.abandoned);
  return parent;
}

http::HttpResponse Answer(const google::protobuf::Message& message) {
  return http::HttpJson(wire::MessageJson(message));
}

http::HttpResponse Problem(const absl::Status& status) {
  const std::string message(status.message());
  if (absl::IsInvalidArgument(status)) return http::HttpProblem(400, message);
  return http::HttpProblem(absl::IsNotFound(status) ? 404 : 500, message);
}

// The field stays as it is if the parameter is absent.
template <class Integer>
absl::Status ReadCount(const http::HttpRequest& request, const std::string& key,
                       void (v1::GetRunRequest::*set)(Integer), v1::GetRunRequest& wanted) {
  const auto found = request.query.find(key);
  if (found == request.query.end()) return absl::OkStatus();
  Integer value = 0;
  if (!absl::SimpleAtoi(found->second, &value) || value < 0) {
    return absl::InvalidArgumentError(fmt::format("{}: expected an integer from 0 to {}, found \"{}\"", key,
                                                  std::numeric_limits<Integer>::max(), found->second));
  }
  (wanted.*set)(value);
  return absl::OkStatus();
}

http::HttpResponse RunsPage(const RunBoard& board, const Relay* relay, const http::HttpRequest& request) {
  const absl::StatusOr<v1::ListRunsRequest> wanted = ListRunsRequestOf(request);
  if (!wanted.ok()) return Problem(wanted.status());
  const absl::StatusOr<v1::ListRunsResponse> runs = ListRuns(board, relay, *wanted);
  return runs.ok() ? Answer(*runs) : Problem(runs.status());
}

}  // namespace

v1::Model ModelMessage(const std::string& run, const store::ModelRecord& record, bool current) {
  v1::Model model;
  model.set_run(run);
  model.set_round(record.round);
  model.set_sha256(record.sha256);
  model.set_element_count(record.element_count);
  model.set_file_bytes(record.file.bytes);
  model.set_created_unix_ns(record.created_unix_ns);
  model.set_current(current);
  return model;
}

absl::StatusOr<v1::GetRunResponse> DescribeRun(const RunBoard& board, const v1::GetRunRequest& request) {
  const auto record = board.Find(request.run());
  if (record == nullptr) return NoSuchRun(request.run());
  v1::GetRunResponse response;
  *response.mutable_run() = record->run;
  response.mutable_run()->set_config(*record->config);
  if (record->clusters != nullptr) *response.mutable_clusters() = *record->clusters;
  RETURN_IF_ERROR(AddHistory(board, request, response));
  const std::size_t page = PageOf(request.nodes());
  std::vector<v1::Participant> nodes = board.Nodes(request.run(), request.after_node(), page + 1);
  if (nodes.size() > page) {
    nodes.pop_back();
    response.set_next_node(nodes.back().node());
  }
  for (v1::Participant& each : nodes) *response.add_participants() = std::move(each);
  return response;
}

absl::StatusOr<v1::ListModelsResponse> ListModels(const RunBoard& board,
                                                  const v1::ListModelsRequest& request) {
  if (!request.run().empty() && board.Find(request.run()) == nullptr) return NoSuchRun(request.run());
  v1::ListModelsResponse response;
  for (const auto& record : board.Runs()) {
    const std::string& name = record->run.name();
    if (!request.run().empty() && name != request.run()) continue;
    ASSIGN_OR_RETURN(auto models, board.store().Models(name, request.from_round(), kLargestPage + 1));
    if (models.size() > kLargestPage) {
      response.set_next_round(models.back().round);
      models.pop_back();
    }
    for (const store::ModelRecord& each : models) {
      *response.add_models() = ModelMessage(name, each, each.round == record->model_round);
    }
  }
  return response;
}

absl::StatusOr<v1::ListRunsResponse> ListRuns(const RunBoard& board, const Relay* relay,
                                              const v1::ListRunsRequest& request) {
  const RunBoard::Records runs = board.Runs();
  auto next = runs.begin();
  if (!request.after_run().empty()) {
    next =
        std::ranges::find(runs, request.after_run(), [](const auto& record) { return record->run.name(); });
    if (next == runs.end()) return NoSuchRun(request.after_run());
    ++next;
  }
  v1::ListRunsResponse response;
  const std::size_t page = request.limit() == 0 ? runs.size() : std::min(request.limit(), kLargestPage);
  for (; next != runs.end() && static_cast<std::size_t>(response.runs_size()) < page; ++next) {
    *response.add_runs() = (*next)->run;
  }
  response.set_more(next != runs.end());
  response.set_room(board.Room());
  if (relay != nullptr) *response.mutable_parent() = ParentMessage(*relay);
  return response;
}

absl::StatusOr<v1::ListRunsRequest> ListRunsRequestOf(const http::HttpRequest& request) {
  ASSIGN_OR_RETURN(const std::uint64_t limit, http::IntegerParameter(request, "limit", 0, 0, kLargestPage));
  v1::ListRunsRequest wanted;
  wanted.set_after_run(request.Parameter("after_run"));
  wanted.set_limit(static_cast<std::uint32_t>(limit == 0 ? kDefaultPage : limit));
  return wanted;
}

absl::StatusOr<v1::GetRunRequest> GetRunRequestOf(const http::HttpRequest& request) {
  v1::GetRunRequest wanted;
  wanted.set_run(request.rest);
  RETURN_IF_ERROR(ReadCount(request, "rounds", &v1::GetRunRequest::set_rounds, wanted));
  RETURN_IF_ERROR(ReadCount(request, "before", &v1::GetRunRequest::set_before, wanted));
  RETURN_IF_ERROR(ReadCount(request, "nodes", &v1::GetRunRequest::set_nodes, wanted));
  wanted.set_after_node(request.Parameter("after_node"));
  return wanted;
}

void AddRunRoutes(http::HttpServer& server, const RunBoard& board, const Relay* relay) {
  server.Route("/api/v1/runs",
               [&board, relay](const http::HttpRequest& request) { return RunsPage(board, relay, request); },
               {"after_run", "limit"});
  server.Route("/api/v1/runs/",
               [&board](const http::HttpRequest& request) {
                 const absl::StatusOr<v1::GetRunRequest> wanted = GetRunRequestOf(request);
                 if (!wanted.ok()) return Problem(wanted.status());
                 const absl::StatusOr<v1::GetRunResponse> run = DescribeRun(board, *wanted);
                 return run.ok() ? Answer(*run) : Problem(run.status());
               },
               {"rounds", "before", "nodes", "after_node"});
}

void AddRoutesWithoutRuns(http::HttpServer& server) {
  for (const char* path : {"/api/v1/runs", "/api/v1/runs/"}) {
    server.Route(path, [](const http::HttpRequest&) -> http::HttpAnswer {
      return http::HttpProblem(404,
                               "runs are switched off: add [federation] with store = \"FOLDER\" to the "
                               "aggregator's configuration and restart it");
    });
  }
}

}  // namespace tributary::learning
