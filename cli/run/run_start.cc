#include <fmt/format.h>

#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/run/run_messages.h"
#include "core/config/program.h"
#include "core/exchange/model_description.h"
#include "core/learning/fresh_model.h"
#include "core/learning/run_config.h"
#include "core/learning/trainable_model.h"
#include "core/link/request_stream.h"
#include "core/parameters/flat_model.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/file.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

constexpr const char* kRunStartExamples = R"(Examples:
  tributary run start run.toml
  tributary run start run.toml --model encoder.safetensors   start from these parameters
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
  RETURN_IF_ERROR(WithContext(path, parameters::DecodeFlatModel(file)).status());
  // The run's models would say that they are of the run that made this one.
  ASSIGN_OR_RETURN(parameters::TensorSet set, parameters::DecodeSafetensors(file));
  RETURN_IF_ERROR(WithContext(path, learning::CheckTrainable(config.client, set, config.strategy.kind)));
  exchange::RemoveDescription(set);
  return parameters::EncodeSafetensors(set);
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

absl::StatusOr<v1::StartRunResponse> Send(const RunStartArguments& arguments, const std::string& config,
                                          std::string_view model) {
  constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
  ASSIGN_OR_RETURN(const auto channel, Connect(arguments.connection));
  grpc::ClientContext context;
  SetDeadline(context, std::chrono::seconds(300));
  v1::StartRunResponse response;
  const auto stub = v1::RunService::NewStub(channel);
  link::RequestStream<v1::StartRunRequest> stream(
      [&](grpc::CompletionQueue* queue) { return stub->AsyncStartRun(&context, &response, queue, nullptr); });
  v1::StartRunRequest request;
  request.set_config(config);
  stream.Write(request);
  request.clear_config();
  while (stream.open() && !model.empty()) {
    const std::string_view chunk = model.substr(0, kChunkBytes);
    request.set_chunk(chunk.data(), chunk.size());
    model.remove_prefix(chunk.size());
    stream.Write(request);
  }
  const grpc::Status status = stream.Finish();
  if (!status.ok()) return FromPeer(status, arguments.connection);
  if (!response.has_run())
    return FromPeer(absl::DataLossError("the answer names no run"), arguments.connection);
  return response;
}

absl::Status InConfiguration(absl::Status fault) {
  return fault.ok() ? fault : WithExitCode(std::move(fault), runtime::kExitConfig);
}

struct PreparedRun {
  std::string config;
  std::string model;
};

// All that is done before the aggregator is asked; --check ends with it.
absl::StatusOr<PreparedRun> Prepare(const RunStartArguments& arguments) {
  ASSIGN_OR_RETURN(std::string text, runtime::ReadFile(arguments.config));
  const auto file = config::ConfigFile::Parse(text, arguments.config);
  RETURN_IF_ERROR(InConfiguration(file.status()));
  RETURN_IF_ERROR(InConfiguration(config::CheckProgram(*file, config::Program::kRun)));
  const learning::RunConfig config = learning::ReadRunConfig(*file);
  RETURN_IF_ERROR(InConfiguration(file->Finish()));
  auto initial = arguments.model.empty() ? InitialModel(*file, config) : ReadModel(arguments.model, config);
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
  ASSIGN_OR_RETURN(const v1::StartRunResponse response, Send(arguments, prepared.config, prepared.model));
  const v1::Run& run = response.run();
  if (run.state() == v1::RUN_STATE_STOPPED || run.state() == v1::RUN_STATE_FAILED) {
    return WithExitCode(
        absl::FailedPreconditionError(fmt::format("{}; another name starts another run", RunSummary(run))),
        runtime::kExitFailure);
  }
  std::cout << (arguments.json ? wire::MessageJson(response) : RunSummary(run)) << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddRunStartCommand(Commands& run) {
  auto [command, arguments] = run.Add<RunStartArguments>("start", "Start a run that a file describes", Start);
  command.Connection(arguments.connection);
  command.Text("config", arguments.config, "FILE", "Configuration of the run")->required();
  command.Text("--model", arguments.model, "FILE", "Initial parameters, instead of what the file names");
  command.Flag("--check", arguments.check, "Look for faults, start nothing");
  command.Json(arguments.json);
  command.Examples(kRunStartExamples);
}

}  // namespace tributary::cli
