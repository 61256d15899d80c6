#include "cli/model/model_roll_back.h"

#include <cstdint>
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

struct ModelRollBackArguments {
  ConnectionArguments connection;
  std::string run;
  std::uint32_t round = 0;
  bool json = false;
};

absl::Status RollBack(const ModelRollBackArguments& arguments) {
  v1::RollBackModelRequest request;
  request.set_run(arguments.run);
  request.set_round(arguments.round);
  const auto response = CallAggregator(arguments.connection, &v1::ModelService::Stub::RollBackModel, request);
  if (!response.ok()) return response.status();
  std::printf("%s\n", arguments.json ? wire::MessageJson(*response).c_str()
                                     : RollBackText(response->run(), arguments.round).c_str());
  return absl::OkStatus();
}

}  // namespace

void AddModelRollBackCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<ModelRollBackArguments>();
  CLI::App* command =
      parent.add_subcommand("rollback", "Make the model of an earlier round the current model of a run");
  AddConnectionOptions(*command, arguments->connection);
  command->add_option("run", arguments->run, "Name of the run")->required();
  command
      ->add_option("round", arguments->round,
                   "Round whose model becomes the current one (0 = the initial model)")
      ->required();
  command->add_flag("--json", arguments->json, "Print the run as JSON");
  command->footer(
      "Example:\n  tributary model rollback letters 12\n\nThe run goes on from it; the history stays and "
      "says so; the "
      "round under way is given up. A run that\nhas ended trains no further: run:NAME is that model from "
      "then on, and "
      "so is what `model export` writes.");
  command->callback([arguments, &exit_code] {
    const absl::Status status = RollBack(*arguments);
    exit_code = status.ok() ? runtime::kExitOk : ReportFailure("model rollback", status);
  });
}

}  // namespace tributary::cli
