// The commands that make one call about the models of runs and print the answer.
#include <cstdint>
#include <string>

#include "cli/commands.h"
#include "cli/run/run_messages.h"
#include "core/runtime/clock.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

using ModelStub = v1::ModelService::Stub;

struct RunModelArguments {
  ConnectionArguments connection;
  std::string run;
  std::uint32_t round = 0;
  bool json = false;
};

absl::Status List(const RunModelArguments& arguments) {
  v1::ListModelsRequest request;
  request.set_run(arguments.run);
  return PrintAnswer(arguments.connection, arguments.json, &ModelStub::ListModels, request,
                     [](const v1::ListModelsResponse& response) {
                       return ModelsText(response, runtime::SystemClock().UnixNs());
                     });
}

absl::Status RollBack(const RunModelArguments& arguments) {
  v1::RollBackModelRequest request;
  request.set_run(arguments.run);
  request.set_round(arguments.round);
  return PrintAnswer(arguments.connection, arguments.json, &ModelStub::RollBackModel, request,
                     [&](const v1::RollBackModelResponse& response) {
                       return RollBackText(response.run(), arguments.round) + "\n";
                     });
}

}  // namespace

void AddModelListCommand(Commands& model) {
  auto [command, arguments] =
      model.Add<RunModelArguments>("list", "List the models that an aggregator's runs have made", List);
  command.Connection(arguments.connection);
  command.Text("--run", arguments.run, "RUN", "List only the models of this run");
  command.Json(arguments.json, "Print JSON instead of the table");
  command.Examples("Example:\n  tributary model list --run letters");
}

void AddModelRollBackCommand(Commands& model) {
  auto [command, arguments] = model.Add<RunModelArguments>(
      "rollback", "Make the model of an earlier round the current model of a run", RollBack);
  command.Connection(arguments.connection);
  command.Text("run", arguments.run, "RUN", "Name of the run")->required();
  command
      .Number("round", arguments.round, "ROUND",
              "Round whose model becomes the current one (0 = the initial model)")
      ->required()
      ->default_str("");
  command.Json(arguments.json, "Print the run as JSON");
  command.Examples(R"(Example:
  tributary model rollback letters 12

The run goes on from it; the history stays and says so; the round under way is given up. A run that
has ended trains no further: run:NAME is that model from then on, and so is what `model export` writes.)");
}

}  // namespace tributary::cli
