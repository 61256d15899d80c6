// Starts a run for each cluster of a run's nodes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/model/model_source.h"
#include "cli/run/run_messages.h"
#include "cli/run/start_call.h"
#include "core/config/top_values.h"
#include "core/learning/run_config.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "core/wire/peer.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

constexpr const char* kRunSplitExamples = R"(Examples:
  tributary run split letters --check   say which runs it would start
  tributary run split letters           stop letters; start letters-1, letters-2 and so on

Needs a run whose file has [clusters] with most, and whose nodes were found to form clusters: `tributary run show` tells. Each
new run starts from the run's present model, has the settings of its file, min_nodes and quorum in proportion, takes the nodes
of its cluster alone, and does the rounds that were left, or all if none were. Nodes that are like no other are in none of
them. Doing it again changes nothing.)";

struct RunSplitArguments {
  ConnectionArguments connection;
  std::string run;
  bool check = false;
  bool json = false;
};

struct NewRun {
  std::string config;
  learning::RunConfig parsed;
};

// The run of cluster `number`, from 1. `all`: the nodes of all clusters, and those that are alone.
absl::StatusOr<NewRun> RunOfCluster(const v1::Run& run, const v1::Cluster& cluster, int number, int all) {
  ASSIGN_OR_RETURN(const learning::RunConfig whole, learning::ParseRunConfig(run.config(), run.name()));
  const auto size = static_cast<std::uint64_t>(cluster.nodes_size());
  // As many boards may be away as before, in proportion.
  const auto share = [size, all](std::uint32_t nodes) {
    const auto of = static_cast<std::uint64_t>(std::max(all, 1));
    return static_cast<std::int64_t>(std::min((nodes * size + of - 1) / of, size));
  };
  const bool left = run.rounds() > run.committed_rounds();
  ASSIGN_OR_RETURN(std::string config,
                   config::WithTopValues(
                       run.config(), run.name(),
                       {{"name", fmt::format("{}-{}", run.name(), number)},
                        {"model", std::string()},
                        {"nodes", std::vector<std::string>(cluster.nodes().begin(), cluster.nodes().end())},
                        {"min_nodes", share(whole.min_nodes)},
                        {"quorum", share(whole.quorum)},
                        {"rounds", std::int64_t{run.rounds() - (left ? run.committed_rounds() : 0)}}}));
  ASSIGN_OR_RETURN(learning::RunConfig parsed, learning::ParseRunConfig(config, run.name()));
  return NewRun{std::move(config), std::move(parsed)};
}

absl::StatusOr<std::vector<NewRun>> RunsOf(const v1::GetRunResponse& response) {
  int all = response.clusters().alone_size();
  for (const v1::Cluster& cluster : response.clusters().clusters()) all += cluster.nodes_size();
  std::vector<NewRun> runs;
  for (const v1::Cluster& cluster : response.clusters().clusters()) {
    ASSIGN_OR_RETURN(runs.emplace_back(),
                     RunOfCluster(response.run(), cluster, static_cast<int>(runs.size()) + 1, all));
  }
  return runs;
}

absl::StatusOr<v1::GetRunResponse> GetRun(const RunSplitArguments& arguments) {
  v1::GetRunRequest request;
  request.set_run(arguments.run);
  request.set_rounds(1);
  request.set_nodes(1);
  ASSIGN_OR_RETURN(v1::GetRunResponse response,
                   CallAggregator(arguments.connection, &v1::RunService::Stub::GetRun, request));
  if (!response.clusters().clusters().empty()) return response;
  const std::string why = response.has_clusters()
                              ? wire::PeerText(response.clusters().message())
                              : "its file has no [clusters] with most, or no round is committed";
  return WithExitCode(absl::FailedPreconditionError(fmt::format("no clusters were found in {}: {}",
                                                                wire::PeerText(response.run().name()), why)),
                      runtime::kExitFailure);
}

void PrintPlan(const v1::GetRunResponse& response, const std::vector<NewRun>& runs) {
  int number = 0;
  for (const NewRun& each : runs) {
    std::cout << fmt::format("{}: {} rounds, {} nodes: {}\n", each.parsed.name, each.parsed.rounds,
                             each.parsed.nodes.size(),
                             NamesText(response.clusters().clusters(number++).nodes()));
  }
  if (response.clusters().alone().empty()) return;
  std::cout << "in no run: " << NamesText(response.clusters().alone()) << "\n";
}

absl::Status Stop(const RunSplitArguments& arguments) {
  v1::StopRunRequest request;
  request.set_run(arguments.run);
  return CallAggregator(arguments.connection, &v1::RunService::Stub::StopRun, request).status();
}

absl::Status Split(const RunSplitArguments& arguments) {
  ASSIGN_OR_RETURN(v1::GetRunResponse response, GetRun(arguments));
  ASSIGN_OR_RETURN(std::vector<NewRun> runs, RunsOf(response));
  if (arguments.check) {
    if (arguments.json) {
      std::cout << wire::MessageJson(response.clusters()) << "\n";
    } else {
      PrintPlan(response, runs);
    }
    return absl::OkStatus();
  }
  if (!HasEnded(response.run())) {
    RETURN_IF_ERROR(Stop(arguments));
    // A round may have been committed meanwhile. From here on nothing changes.
    ASSIGN_OR_RETURN(response, GetRun(arguments));
    ASSIGN_OR_RETURN(runs, RunsOf(response));
  }
  ASSIGN_OR_RETURN(const ModelFile model, ReadModelSource("run:" + arguments.run, arguments.connection));
  v1::ListRunsResponse started;
  for (const NewRun& each : runs) {
    ASSIGN_OR_RETURN(const std::string initial, AsInitialModel(model.bytes, arguments.run, each.parsed));
    ASSIGN_OR_RETURN(v1::StartRunResponse answer, CallStartRun(arguments.connection, each.config, initial));
    RETURN_IF_ERROR(MustGoOn(answer.run()));
    *started.add_runs() = std::move(*answer.mutable_run());
  }
  if (arguments.json) {
    std::cout << wire::MessageJson(started) << "\n";
  } else {
    PrintPlan(response, runs);
  }
  return absl::OkStatus();
}

}  // namespace

void AddRunSplitCommand(Commands& run) {
  auto [command, arguments] =
      run.Add<RunSplitArguments>("split", "Start a run for each cluster of a run's nodes", Split);
  command.Connection(arguments.connection);
  command.Text("run", arguments.run, "RUN", "Name of the run")->required();
  command.Flag("--check", arguments.check, "Say what it would start, change nothing");
  command.Json(arguments.json);
  command.Examples(kRunSplitExamples);
}

}  // namespace tributary::cli
