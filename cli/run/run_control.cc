#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/run/run_messages.h"
#include "core/wire/message_json.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

struct RunControlArguments {
  ConnectionArguments connection;
  std::string run;
  bool json = false;
};

template <class Request, class Response>
using RunMethod = grpc::Status (v1::RunService::Stub::*)(grpc::ClientContext*, const Request&, Response*);

template <class Request, class Response>
absl::Status Control(const RunControlArguments& arguments, RunMethod<Request, Response> method) {
  Request request;
  request.set_run(arguments.run);
  const absl::StatusOr<Response> response = CallAggregator(arguments.connection, method, request);
  if (!response.ok()) return response.status();
  std::printf("%s\n",
              arguments.json ? wire::MessageJson(*response).c_str() : RunSummary(response->run()).c_str());
  return absl::OkStatus();
}

// The three commands differ in the call that they stand for.
void AddControl(Commands& run, const std::string& name, const std::string& description,
                absl::Status (*action)(const RunControlArguments&)) {
  auto [command, arguments] = run.Add<RunControlArguments>(name, description, action);
  command.Connection(arguments.connection);
  command.Text("run", arguments.run, "RUN", "Name of the run")->required();
  command.Json(arguments.json, "Print the run as JSON");
  command.Examples("Example:\n  tributary run " + name + " letters");
}

}  // namespace

void AddRunControlCommands(Commands& run) {
  using Stub = v1::RunService::Stub;
  AddControl(run, "pause", "Let the round under way end and start no other",
             [](const RunControlArguments& arguments) { return Control(arguments, &Stub::PauseRun); });
  AddControl(run, "resume", "Go on with a paused run",
             [](const RunControlArguments& arguments) { return Control(arguments, &Stub::ResumeRun); });
  AddControl(run, "stop", "End a run for good",
             [](const RunControlArguments& arguments) { return Control(arguments, &Stub::StopRun); });
}

}  // namespace tributary::cli
