#include "cli/run_control.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "cli/connection.h"
#include "cli/run_messages.h"
#include "core/runtime/service.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary {
namespace {

struct Arguments {
  ConnectionArguments connection;
  std::string run;
  bool json = false;
};

// Makes the one call of three that a command stands for.
using Call = std::function<grpc::Status(v1::RunService::Stub& stub, grpc::ClientContext& context,
                                        const std::string& run, v1::Run& result)>;

template <class Request, class Response>
Call CallOf(grpc::Status (v1::RunService::Stub::*method)(grpc::ClientContext*, const Request&, Response*)) {
  return [method](v1::RunService::Stub& stub, grpc::ClientContext& context, const std::string& run,
                  v1::Run& result) {
    Request request;
    request.set_run(run);
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    result = response.run();
    return status;
  };
}

absl::Status Control(const Arguments& arguments, const Call& call) {
  const auto channel = Connect(arguments.connection);
  if (!channel.ok()) return channel.status();
  grpc::ClientContext context;
  SetDeadline(context);
  v1::Run run;
  const grpc::Status status = call(*v1::RunService::NewStub(*channel), context, arguments.run, run);
  if (!status.ok()) return FromPeer(status, arguments.connection.aggregator);
  std::printf("%s\n", arguments.json ? RunJson(run).dump().c_str() : RunSummary(run).c_str());
  return absl::OkStatus();
}

void Add(CLI::App& parent, int& exit_code, const std::string& name, const char* description, Call call) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = parent.add_subcommand(name, description);
  AddConnectionOptions(*command, arguments->connection);
  command->add_option("run", arguments->run, "Its name")->required();
  command->add_flag("--json", arguments->json, "As JSON");
  command->footer("Example:\n  tributary run " + name + " letters");
  command->callback([arguments, &exit_code, name, call = std::move(call)] {
    const absl::Status status = Control(*arguments, call);
    exit_code = status.ok() ? kExitOk : ReportFailure(("run " + name).c_str(), status);
  });
}

}  // namespace

void AddRunControlCommands(CLI::App& parent, int& exit_code) {
  using Stub = v1::RunService::Stub;
  Add(parent, exit_code, "pause", "Let the round under way end and start no other", CallOf(&Stub::PauseRun));
  Add(parent, exit_code, "resume", "Go on with a paused run", CallOf(&Stub::ResumeRun));
  Add(parent, exit_code, "stop", "End a run for good", CallOf(&Stub::StopRun));
}

}  // namespace tributary
