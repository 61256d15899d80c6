// The commands that make one call about runs and print the answer.
#include <string>

#include "cli/commands.h"
#include "cli/run/run_messages.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

using RunStub = v1::RunService::Stub;

struct RunArguments {
  ConnectionArguments connection;
  std::string run;
  bool json = false;
};

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

// Asks for the other runs only if the run waits or has clusters. They tell more, and nothing that is needed.
absl::Status Show(const RunArguments& arguments) {
  return CallForRun(arguments, &RunStub::GetRun, [&arguments](const v1::GetRunResponse& response) {
    if (response.run().state() != v1::RUN_STATE_WAITING && !response.has_clusters()) return RunText(response);
    const auto runs = CallAggregator(arguments.connection, &RunStub::ListRuns, v1::ListRunsRequest());
    return RunText(response, runs.value_or(v1::ListRunsResponse()));
  });
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
  AddForRun(run, "show", "Show a run: where it stands, its nodes, its rounds", Show,
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
  AddForRun(
      run, "delete", "Remove a run that has ended, with its models and its history",
      [](const RunArguments& given) {
        return CallForRun(given, &RunStub::DeleteRun, [](const v1::DeleteRunResponse& response) {
          return fmt::format("deleted run {}, {} rounds\n", response.run().name(),
                             response.run().committed_rounds());
        });
      },
      "Print the run as it was as JSON", "");
}

}  // namespace tributary::cli
