// The commands that make one call about runs and print the answer.
#include <fmt/format.h>

#include <string>

#include "absl/strings/escaping.h"
#include "cli/commands.h"
#include "cli/run/run_messages.h"
#include "cli/table.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

using RunStub = v1::RunService::Stub;

struct RunArguments {
  ConnectionArguments connection;
  std::string run;
  bool json = false;
};

std::string RunsText(const v1::ListRunsResponse& response) {
  Table table({Left("RUN"), Left("STATE"), Left("STRATEGY"), Right("ROUNDS"), Right("NODES"),
               Right("PARAMETERS"), Left("MESSAGE")});
  for (const v1::Run& run : response.runs()) {
    table.Add(run.name(), RunStateName(run.state()), run.strategy(),
              fmt::format("{}/{}", run.committed_rounds(), run.rounds()),
              fmt::format("{}/{}", run.connected_nodes(), run.joined_nodes()), run.element_count(),
              run.message());
  }
  return table.Text();
}

std::string RunText(const v1::GetRunResponse& response) {
  Table table({Left("NODE"), Left("STATE"), Right("SAMPLES"), Right("LAST ROUND"), Right("ACCEPTED"),
               Right("REFUSED"), Right("DROPPED"), Right("DECLINED"), Left("LAST REFUSAL")});
  for (const v1::Participant& each : response.participants()) {
    table.Add(each.node(), ParticipantState(each), each.sample_count(), each.last_round(),
              each.accepted_updates(), each.refused_updates(), each.dropped_rounds(), each.declined_tasks(),
              each.last_refusal());
  }
  std::string text =
      fmt::format("{}\nmodel {}\n\n{}\n{}\n", RunSummary(response.run()),
                  absl::BytesToHexString(response.run().model_sha256()), table.Text(), RoundHeading());
  for (const v1::Round& round : response.history()) text += RoundLineText(round) + "\n";
  return text;
}

absl::Status List(const RunArguments& arguments) {
  return PrintAnswer(arguments.connection, arguments.json, &RunStub::ListRuns, v1::ListRunsRequest(),
                     RunsText);
}

template <class Request, class Response, class Text>
absl::Status CallForRun(const RunArguments& arguments,
                        grpc::Status (RunStub::*method)(grpc::ClientContext*, const Request&, Response*),
                        const Text& text) {
  Request request;
  request.set_run(arguments.run);
  return PrintAnswer(arguments.connection, arguments.json, method, request, text);
}

constexpr auto kSummary = [](const auto& response) { return RunSummary(response.run()) + "\n"; };

void AddForRun(Commands& run, const std::string& name, const std::string& description,
               absl::Status (*action)(const RunArguments&), const std::string& json_help,
               const std::string& example) {
  auto [command, arguments] = run.Add<RunArguments>(name, description, action);
  command.Connection(arguments.connection);
  command.Text("run", arguments.run, "RUN", "Name of the run")->required();
  command.Json(arguments.json, json_help);
  command.Examples("Example:\n  tributary run " + name + " letters" + example);
}

}  // namespace

void AddRunListCommand(Commands& run) {
  auto [command, arguments] = run.Add<RunArguments>("list", "List an aggregator's runs", List);
  command.Connection(arguments.connection);
  command.Json(arguments.json);
  command.Examples(
      "Example:\n  tributary run list --json | jq '.runs[] | select(.state == \"RUN_STATE_RUNNING\")'");
}

void AddRunShowCommand(Commands& run) {
  AddForRun(
      run, "show", "Show a run: where it stands, its nodes, its rounds",
      [](const RunArguments& arguments) { return CallForRun(arguments, &RunStub::GetRun, RunText); },
      "Print one JSON object, with the configuration of the run", " --json | jq '.history[].loss'");
}

void AddRunControlCommands(Commands& run) {
  const std::string json_help = "Print the run as JSON";
  AddForRun(
      run, "pause", "Let the round under way end and start no other",
      [](const RunArguments& given) { return CallForRun(given, &RunStub::PauseRun, kSummary); }, json_help,
      "");
  AddForRun(
      run, "resume", "Go on with a paused run",
      [](const RunArguments& given) { return CallForRun(given, &RunStub::ResumeRun, kSummary); }, json_help,
      "");
  AddForRun(
      run, "stop", "End a run for good",
      [](const RunArguments& given) { return CallForRun(given, &RunStub::StopRun, kSummary); }, json_help,
      "");
}

}  // namespace tributary::cli
