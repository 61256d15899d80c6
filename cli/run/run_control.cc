#include "cli/run/run_control.h"

#include <cstdio>
#include <memory>
#include <string>

#include "cli/aggregator_call.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/run/run_messages.h"
#include "core/runtime/service.h"
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
template <class Request, class Response>
void Add(CLI::App& parent, int& exit_code, const std::string& name, const char* description,
         RunMethod<Request, Response> method) {
  auto arguments = std::make_shared<RunControlArguments>();
  CLI::App* command = parent.add_subcommand(name, description);
  AddConnectionOptions(*command, arguments->connection);
  command->add_option("run", arguments->run, "Its name")->required();
  command->add_flag("--json", arguments->json, "As JSON");
  command->footer("Example:\n  tributary run " + name + " letters");
  command->callback([arguments, &exit_code, name, method] {
    const absl::Status status = Control(*arguments, method);
    exit_code = status.ok() ? runtime::kExitOk : ReportFailure(("run " + name).c_str(), status);
  });
}

}  // namespace

void AddRunControlCommands(CLI::App& parent, int& exit_code) {
  using Stub = v1::RunService::Stub;
  Add(parent, exit_code, "pause", "Let the round under way end and start no other", &Stub::PauseRun);
  Add(parent, exit_code, "resume", "Go on with a paused run", &Stub::ResumeRun);
  Add(parent, exit_code, "stop", "End a run for good", &Stub::StopRun);
}

}  // namespace tributary::cli
