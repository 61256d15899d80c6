#include <cstdint>
#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/run/run_messages.h"
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

void AddModelRollBackCommand(Commands& model) {
  auto [command, arguments] = model.Add<ModelRollBackArguments>(
      "rollback", "Make the model of an earlier round the current model of a run", RollBack);
  command.Connection(arguments.connection);
  command.Text("run", arguments.run, "RUN", "Name of the run")->required();
  command
      .Number("round", arguments.round, "ROUND",
              "Round whose model becomes the current one (0 = the initial model)")
      ->required()
      ->default_str("");
  command.Json(arguments.json, "Print the run as JSON");
  command.Examples(
      "Example:\n  tributary model rollback letters 12\n\nThe run goes on from it; the history stays and "
      "says so; the "
      "round under way is given up. A run that\nhas ended trains no further: run:NAME is that model from "
      "then on, and "
      "so is what `model export` writes.");
}

}  // namespace tributary::cli
