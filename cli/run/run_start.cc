
#include <iostream>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/model/model_source.h"
#include "cli/run/run_messages.h"
#include "cli/run/start_call.h"
#include "core/config/program.h"
#include "core/learning/fresh_model.h"
#include "core/learning/run_config.h"
#include "core/runtime/file.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"
#include "core/wire/json.h"

namespace tributary::cli {
namespace {

constexpr const char* kRunStartExamples = R"(Examples:
  tributary run start run.toml
  tributary run start run.toml --model encoder.safetensors   start from these parameters
  tributary run start run.toml --model run:letters@5         start from another run's model after its round 5
  tributary run start run.toml --check                       look for faults only

run.toml:
  name = "letters"
  rounds = 20
  min_nodes = 5
  deadline_s = 60
  [strategy]
  kind = "fedavg"
  [client]
  local_steps = 50

Starting the same run again changes nothing. Without a model, here or in the file, a fresh encoder is drawn from client.seed.)";

struct RunStartArguments {
  ConnectionArguments connection;
  std::string config;
  std::string model;
  bool check = false;
  bool json = false;
};

// Checked here, where the file has a name.
absl::StatusOr<std::string> ReadModel(const std::string& path, const learning::RunConfig& config) {
  ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(path));
  return AsInitialModel(file, path, config);
}

// What the file says of the initial model; a fault is recorded at its key.
absl::StatusOr<std::string> InitialModel(const config::ConfigFile& file, const learning::RunConfig& config) {
  const bool drawn = config.model_file.empty();
  absl::StatusOr<std::string> model =
      drawn ? learning::FreshModel(config) : ReadModel(file.Root().File(config.model_file), config);
  if (!model.ok()) {
    file.Fault(drawn && learning::IsDrawn(config.client) ? "encoder" : "model",
               std::string(model.status().message()));
  }
  return model;
}

// What --model names.
absl::StatusOr<std::string> GivenModel(const RunStartArguments& arguments,
                                       const learning::RunConfig& config) {
  ASSIGN_OR_RETURN(const ModelFile model, ReadModelSource(arguments.model, arguments.connection));
  return AsInitialModel(model.bytes, arguments.model, config);
}

absl::Status InConfiguration(absl::Status fault) {
  return fault.ok() ? fault : WithExitCode(std::move(fault), runtime::kExitConfig);
}

struct PreparedRun {
  std::string config;
  std::string model;
};

// All that is done before the aggregator is asked to start it; --check ends with it.
absl::StatusOr<PreparedRun> Prepare(const RunStartArguments& arguments) {
  ASSIGN_OR_RETURN(std::string text, runtime::ReadFile(arguments.config));
  const auto file = config::ConfigFile::Parse(text, arguments.config);
  RETURN_IF_ERROR(InConfiguration(file.status()));
  RETURN_IF_ERROR(InConfiguration(config::CheckProgram(*file, config::Program::kRun)));
  const learning::RunConfig config = learning::ReadRunConfig(*file);
  RETURN_IF_ERROR(InConfiguration(file->Finish()));
  auto initial = arguments.model.empty() ? InitialModel(*file, config) : GivenModel(arguments, config);
  RETURN_IF_ERROR(InConfiguration(file->Finish()));
  ASSIGN_OR_RETURN(std::string model, std::move(initial));
  return PreparedRun{std::move(text), std::move(model)};
}

absl::Status Start(const RunStartArguments& arguments) {
  ASSIGN_OR_RETURN(const PreparedRun prepared, Prepare(arguments));
  if (arguments.check && arguments.json) {
    std::cout << wire::DumpJson({{"file", arguments.config}, {"ok", true}}) << "\n";
    return absl::OkStatus();
  }
  if (arguments.check) {
    std::cout << runtime::Printable(arguments.config) << ": no fault found\n";
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const v1::StartRunResponse response,
                   CallStartRun(arguments.connection, prepared.config, prepared.model));
  RETURN_IF_ERROR(MustGoOn(response.run()));
  std::cout << (arguments.json ? wire::MessageJson(response) : RunSummary(response.run())) << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddRunStartCommand(Commands& run) {
  auto [command, arguments] = run.Add<RunStartArguments>("start", "Start a run that a file describes", Start);
  command.Connection(arguments.connection);
  command.Text("config", arguments.config, "FILE", "Configuration of the run")->required();
  command.Text("--model", arguments.model, kModelSourceType,
               "Initial parameters, instead of what the file names: a file, or a run's model");
  command.Flag("--check", arguments.check, "Look for faults, start nothing");
  command.Json(arguments.json);
  command.Examples(kRunStartExamples);
}

}  // namespace tributary::cli
