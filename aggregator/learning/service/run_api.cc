#include "aggregator/learning/service/run_api.h"

#include <array>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "aggregator/learning/service/run_message.h"

namespace tributary::learning {
namespace {

using nlohmann::json;

http::HttpResponse Answer(int status, const json& value) {
  return {status, "application/json", value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"};
}

json ParentJson(const Relay& relay) {
  const Relay::Counters counters = relay.counters();
  const absl::Status error = relay.client().last_error();
  return {{"aggregator", relay.parent().aggregator},
          {"node", relay.parent().node},
          {"state", link::FederationStateName(relay.client().state())},
          {"message", error.ok() ? relay.client().waiting_for() : std::string(error.message())},
          {"rounds", counters.rounds},
          {"accepted_sums", counters.accepted},
          {"refused_sums", counters.refused},
          {"abandoned_rounds", counters.abandoned}};
}

json NodeJson(const v1::Participant& node) {
  return {{"node", node.node()},
          {"connected", node.connected()},
          {"sample_count", node.sample_count()},
          {"last_round", node.last_round()},
          {"accepted_updates", node.accepted_updates()},
          {"refused_updates", node.refused_updates()},
          {"dropped_rounds", node.dropped_rounds()},
          {"declined_tasks", node.declined_tasks()},
          {"last_refusal", node.last_refusal()},
          {"cannot_train", node.cannot_train()}};
}

// Null between rounds.
json CurrentRoundJson(const v1::Run& run) {
  if (run.round() == 0) return nullptr;
  return {{"round", run.round()},
          {"deadline_unix_ns", std::to_string(run.deadline_unix_ns())},
          {"asked_nodes", run.asked_nodes()},
          {"accepted_updates", run.accepted_updates()},
          {"refused_updates", run.round_refused_updates()}};
}

json LineJson(const v1::Round& line) {
  json value = {{"round", line.round()},
                {"started_unix_ns", std::to_string(line.started_unix_ns())},
                {"ended_unix_ns", std::to_string(line.ended_unix_ns())},
                {"asked", line.asked()},
                {"accepted", line.accepted()},
                {"refused", line.refused()},
                {"dropped", line.dropped()},
                {"declined", line.declined()},
                {"sample_count", line.sample_count()},
                {"loss", line.loss()},
                {"spread", line.spread()},
                {"update_norm", line.update_norm()},
                {"received_bytes", line.received_bytes()},
                {"model_sha256", absl::BytesToHexString(line.model_sha256())},
                {"rolled_back", line.rolled_back()},
                {"failure", line.failure()},
                {"contributions", json::array()},
                {"declines", json::array()}};
  for (const v1::RoundContribution& each : line.contributions()) {
    value["contributions"].push_back({{"node", each.node()},
                                      {"sample_count", each.sample_count()},
                                      {"loss", each.loss()},
                                      {"seconds", each.seconds()}});
  }
  for (const v1::RoundDecline& each : line.declines()) {
    value["declines"].push_back(
        {{"node", each.node()}, {"reason", each.reason()}, {"message", each.message()}});
  }
  if (line.epsilon() > 0) value["epsilon"] = line.epsilon();
  if (!line.has_evaluation()) return value;
  const v1::Evaluation& evaluation = line.evaluation();
  value["evaluation"] = {{"linear_probe", evaluation.linear_probe()},
                         {"knn", evaluation.knn()},
                         {"spread", evaluation.spread()},
                         {"random_linear_probe", evaluation.random_linear_probe()},
                         {"random_knn", evaluation.random_knn()},
                         {"random_spread", evaluation.random_spread()},
                         {"test_images", evaluation.test_images()}};
  return value;
}

constexpr std::array<const char*, 7> kStates = {"unspecified", "waiting", "running", "paused",
                                                "finished",    "stopped", "failed"};

}  // namespace

json RunSummaryJson(const v1::Run& run) {
  json value = {{"name", run.name()},
                {"state", kStates.at(static_cast<std::size_t>(run.state()))},
                {"message", run.message()},
                {"strategy", run.strategy()},
                {"rounds", run.rounds()},
                {"committed_rounds", run.committed_rounds()},
                {"joined_nodes", run.joined_nodes()},
                {"connected_nodes", run.connected_nodes()},
                {"quorum", run.quorum()},
                {"element_count", run.element_count()},
                {"model_sha256", absl::BytesToHexString(run.model_sha256())},
                {"started_unix_ns", std::to_string(run.started_unix_ns())},
                {"current_round", CurrentRoundJson(run)},
                {"totals",
                 {{"accepted_updates", run.total_accepted_updates()},
                  {"refused_updates", run.refused_updates()},
                  {"declined_tasks", run.total_declined_tasks()}}}};
  if (run.epsilon() > 0) value.update({{"epsilon", run.epsilon()}, {"delta", run.delta()}});
  return value;
}

json RunDetailsJson(const v1::GetRunResponse& response) {
  json value = RunSummaryJson(response.run());
  value["history"] = json::array();
  for (const v1::Round& line : response.history()) value["history"].push_back(LineJson(line));
  value["nodes"] = json::array();
  for (const v1::Participant& node : response.participants()) value["nodes"].push_back(NodeJson(node));
  return value;
}

void AddRunRoutes(http::HttpServer& server, const RunBoard& board, const Relay* relay) {
  server.Route("/api/v1/runs", [&board, relay](const http::HttpRequest&) {
    json runs = json::array();
    for (const auto& record : board.Runs()) runs.push_back(RunSummaryJson(record->run));
    json value = {{"runs", std::move(runs)}};
    if (relay != nullptr) value["parent"] = ParentJson(*relay);
    return Answer(200, value);
  });
  server.Route("/api/v1/runs/", [&board](const http::HttpRequest& request) {
    v1::GetRunRequest wanted;
    wanted.set_run(request.rest);
    const absl::StatusOr<v1::GetRunResponse> run = DescribeRun(board, wanted);
    if (run.ok()) return Answer(200, RunDetailsJson(*run));
    if (absl::IsNotFound(run.status())) return Answer(404, {{"error", "no such run"}});
    return Answer(500, {{"error", std::string(run.status().message())}});
  });
}

}  // namespace tributary::learning
