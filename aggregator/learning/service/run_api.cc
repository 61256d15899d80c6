#include "aggregator/learning/service/run_api.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"

namespace tributary {
namespace {

using nlohmann::json;

HttpResponse Answer(int status, const json& value) {
  return {status, "application/json", value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"};
}

json ParentJson(const Relay& relay) {
  const Relay::Counters counters = relay.counters();
  const absl::Status error = relay.client().last_error();
  return {{"aggregator", relay.parent().aggregator},
          {"node", relay.parent().node},
          {"state", FederationStateName(relay.client().state())},
          {"message", error.ok() ? relay.client().waiting_for() : std::string(error.message())},
          {"rounds", counters.rounds},
          {"accepted_sums", counters.accepted},
          {"refused_sums", counters.refused},
          {"abandoned_rounds", counters.abandoned}};
}

json NodeJson(const ParticipantStatus& node) {
  return {{"node", node.node},
          {"connected", node.connected},
          {"sample_count", node.sample_count},
          {"last_round", node.last_round},
          {"accepted_updates", node.accepted_updates},
          {"refused_updates", node.refused_updates},
          {"dropped_rounds", node.dropped_rounds},
          {"declined_tasks", node.declined_tasks},
          {"last_refusal", node.last_refusal},
          {"cannot_train", node.cannot_train}};
}

// Null between rounds.
json CurrentRoundJson(const RunView& run) {
  if (run.round == 0) return nullptr;
  return {{"round", run.round},
          {"deadline_unix_ns", std::to_string(run.deadline_unix_ns)},
          {"asked_nodes", run.asked},
          {"accepted_updates", run.accepted},
          {"refused_updates", run.refused}};
}

// As it is stored, but for what a reader's numbers cannot hold.
json HistoryJson(const RoundLine& line) {
  json value = RoundLineJson(line);
  value["started_unix_ns"] = std::to_string(line.started_unix_ns);
  value["ended_unix_ns"] = std::to_string(line.ended_unix_ns);
  return value;
}

}  // namespace

json RunSummaryJson(const RunView& run) {
  json value = {
      {"name", run.name},
      {"state", RunConditionName(run.condition)},
      {"message", run.message},
      {"strategy", run.strategy},
      {"rounds", run.rounds},
      {"committed_rounds", run.committed},
      {"joined_nodes", run.participants.size()},
      {"connected_nodes", std::ranges::count(run.participants, true, &ParticipantStatus::connected)},
      {"quorum", run.quorum},
      {"element_count", run.element_count},
      {"model_sha256", absl::BytesToHexString(run.model_sha256)},
      {"started_unix_ns", std::to_string(run.started_unix_ns)},
      {"current_round", CurrentRoundJson(run)},
      {"totals",
       {{"accepted_updates", run.totals.accepted_updates},
        {"refused_updates", run.totals.refused_updates},
        {"declined_tasks", run.totals.declined_tasks}}}};
  if (run.epsilon > 0) value.update({{"epsilon", run.epsilon}, {"delta", run.delta}});
  return value;
}

json RunDetailsJson(const RunView& run) {
  json value = RunSummaryJson(run);
  value["history"] = json::array();
  for (const auto& line : run.history) value["history"].push_back(HistoryJson(*line));
  value["nodes"] = json::array();
  for (const ParticipantStatus& node : run.participants) value["nodes"].push_back(NodeJson(node));
  return value;
}

void AddRunRoutes(HttpServer& server, const RunBoard& board, const Relay* relay) {
  server.Route("/api/v1/runs", [&board, relay](const HttpRequest&) {
    json runs = json::array();
    for (const auto& run : board.Runs()) runs.push_back(RunSummaryJson(*run));
    json value = {{"runs", std::move(runs)}};
    if (relay != nullptr) value["parent"] = ParentJson(*relay);
    return Answer(200, value);
  });
  server.Route("/api/v1/runs/", [&board](const HttpRequest& request) {
    const auto run = board.Find(request.rest);
    return run == nullptr ? Answer(404, {{"error", "no such run"}}) : Answer(200, RunDetailsJson(*run));
  });
}

}  // namespace tributary
