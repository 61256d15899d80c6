// Starts a run for each cluster of a run's nodes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <set>
#include <string>
#include <utility>
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
#include "core/status/context.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "core/wire/peer.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

constexpr std::uint32_t kMostNodesShown = 1'000;  // more than a run with clusters may have

constexpr const char* kRunSplitExamples = R"(Examples:
  tributary run split letters --check   say which runs it would start
  tributary run split letters           stop letters; start letters-1, letters-2 and so on
  tributary run split letters --name l  the same with l-1, l-2 and so on

Needs a run whose file has [clusters] with most, and whose nodes were found to form clusters: `tributary run show` tells. Each
new run starts from the run's present model, has the settings of its file, min_nodes and quorum in proportion, takes the nodes
of its cluster alone, and does the rounds that were left, or all if none were. Nodes that are like no other, or are not judged
yet, are in none of them. Nothing is stopped where names are taken or the aggregator has no room. Doing it again does what was
left to do.)";

struct RunSplitArguments {
  ConnectionArguments connection;
  std::string run;
  std::string name;  // that new runs' names begin with; empty: that of the run
  bool check = false;
  bool json = false;
};

struct NewRun {
  std::string config;
  learning::RunConfig parsed;
};
using NewRuns = std::vector<NewRun>;

absl::Status Failed(std::string message) {
  return WithExitCode(absl::FailedPreconditionError(std::move(message)), runtime::kExitFailure);
}

// The run of a cluster. `all`: the nodes of all clusters, and those that are alone.
absl::StatusOr<NewRun> RunOfCluster(const v1::Run& run, const v1::Cluster& cluster, const std::string& name,
                                    int all) {
  const std::string path = wire::PeerText(run.name());
  ASSIGN_OR_RETURN(const learning::RunConfig whole, learning::ParseRunConfig(run.config(), path));
  const auto size = static_cast<std::uint64_t>(cluster.nodes_size());
  // As many boards may be away as before, in proportion.
  const auto share = [size, all](std::uint32_t nodes) {
    const auto of = static_cast<std::uint64_t>(std::max(all, 1));
    return static_cast<std::int64_t>(std::min((nodes * size + of - 1) / of, size));
  };
  const bool left = run.rounds() > run.committed_rounds();
  ASSIGN_OR_RETURN(std::string config,
                   config::WithTopValues(
                       run.config(), path,
                       {{"name", name},
                        {"model", std::string()},
                        {"nodes", std::vector<std::string>(cluster.nodes().begin(), cluster.nodes().end())},
                        {"min_nodes", share(whole.min_nodes)},
                        {"quorum", share(whole.quorum)},
                        {"rounds", std::int64_t{run.rounds() - (left ? run.committed_rounds() : 0)}}}));
  ASSIGN_OR_RETURN(learning::RunConfig parsed, learning::ParseRunConfig(config, path));
  return NewRun{std::move(config), std::move(parsed)};
}

absl::StatusOr<NewRuns> RunsOf(const v1::Run& run, const v1::Clusters& clusters, const std::string& base) {
  int all = clusters.alone_size();
  for (const v1::Cluster& cluster : clusters.clusters()) all += cluster.nodes_size();
  NewRuns runs;
  for (const v1::Cluster& cluster : clusters.clusters()) {
    const std::string name = fmt::format("{}-{}", base, runs.size() + 1);
    if (name.size() > learning::kMostPlainName) {
      return Failed(fmt::format("the name {} would be too long: --name gives the new runs another one",
                                wire::PeerText(name)));
    }
    ASSIGN_OR_RETURN(runs.emplace_back(), RunOfCluster(run, cluster, name, all));
  }
  return runs;
}

absl::StatusOr<v1::GetRunResponse> GetRun(const RunSplitArguments& arguments, const std::string& run) {
  v1::GetRunRequest request;
  request.set_run(run);
  request.set_rounds(1);
  request.set_nodes(kMostNodesShown);
  return CallAggregator(arguments.connection, &v1::RunService::Stub::GetRun, request);
}

absl::Status MustHaveClusters(const v1::GetRunResponse& response) {
  if (!response.clusters().clusters().empty()) return absl::OkStatus();
  const std::string why = response.has_clusters()
                              ? wire::PeerText(response.clusters().message())
                              : "its file has no [clusters] with most, or no round is committed";
  return Failed(fmt::format("no clusters were found in {}: {}", wire::PeerText(response.run().name()), why));
}

// Whether the runs can be started once the run has ended: their names are free, or are those of runs that an
// earlier split started, and there is room.
absl::Status CheckFree(const RunSplitArguments& arguments, const v1::Run& run, const NewRuns& runs) {
  ASSIGN_OR_RETURN(
      const v1::ListRunsResponse present,
      CallAggregator(arguments.connection, &v1::RunService::Stub::ListRuns, v1::ListRunsRequest()));
  std::uint32_t needed = 0;
  for (const NewRun& each : runs) {
    const std::string& name = each.parsed.name;
    if (std::ranges::none_of(present.runs(), [&](const v1::Run& other) { return other.name() == name; })) {
      ++needed;
      continue;
    }
    const std::string taken =
        fmt::format("there is a run {} already: --name gives the new runs another name", name);
    if (!HasEnded(run)) return Failed(taken);
    ASSIGN_OR_RETURN(const v1::GetRunResponse other, GetRun(arguments, name));
    if (other.run().config() != each.config) return Failed(taken);
  }
  const std::uint32_t room = present.room() + (HasEnded(run) ? 0 : 1);
  if (!present.has_room() || needed <= room) return absl::OkStatus();
  return Failed(
      fmt::format("{} runs would be started, and the aggregator has room for {} (federation.max_runs): stop "
                  "others first (tributary run list, tributary run stop NAME)",
                  needed, room));
}

// The initial models of the runs.
absl::StatusOr<std::vector<std::string>> ModelsOf(const RunSplitArguments& arguments, const NewRuns& runs) {
  ASSIGN_OR_RETURN(const ModelFile model, ReadModelSource("run:" + arguments.run, arguments.connection));
  std::vector<std::string> models;
  for (const NewRun& each : runs) {
    ASSIGN_OR_RETURN(models.emplace_back(), AsInitialModel(model.bytes, arguments.run, each.parsed));
  }
  return models;
}

// Nodes of the run that are neither in a cluster nor alone.
google::protobuf::RepeatedPtrField<std::string> NotJudged(const v1::GetRunResponse& response) {
  std::set<std::string> judged(response.clusters().alone().begin(), response.clusters().alone().end());
  for (const v1::Cluster& each : response.clusters().clusters()) {
    judged.insert(each.nodes().begin(), each.nodes().end());
  }
  google::protobuf::RepeatedPtrField<std::string> others;
  for (const v1::Participant& each : response.participants()) {
    if (!judged.contains(each.node())) *others.Add() = each.node();
  }
  return others;
}

void PrintPlan(const v1::GetRunResponse& response, const NewRuns& runs) {
  const v1::Clusters& found = response.clusters();
  int number = 0;
  for (const NewRun& each : runs) {
    std::cout << fmt::format("{}: {} rounds, {} nodes: {}\n", each.parsed.name, each.parsed.rounds,
                             each.parsed.nodes.size(), NamesText(found.clusters(number++).nodes()));
  }
  if (!found.alone().empty()) std::cout << "in no run: " << NamesText(found.alone()) << "\n";
  if (const auto others = NotJudged(response); !others.empty()) {
    std::cout << "not judged yet, and in no run: " << NamesText(others) << "\n";
  }
  if (found.missing_since() > 0) {
    std::cout << fmt::format("found after round {}, not again since round {}: {}\n", found.round(),
                             found.missing_since(), wire::PeerText(found.message()));
  }
  std::cout << fmt::format("a node whose configuration names {} takes part in none of them\n",
                           wire::PeerText(response.run().name()));
}

v1::ListRunsResponse PlannedRuns(const NewRuns& runs) {
  v1::ListRunsResponse planned;
  for (const NewRun& each : runs) {
    v1::Run& run = *planned.add_runs();
    run.set_name(each.parsed.name);
    run.set_rounds(each.parsed.rounds);
    run.set_quorum(each.parsed.quorum);
    run.set_named_nodes(static_cast<std::uint32_t>(each.parsed.nodes.size()));
    run.set_config(each.config);
  }
  return planned;
}

absl::Status Stop(const RunSplitArguments& arguments) {
  v1::StopRunRequest request;
  request.set_run(arguments.run);
  return CallAggregator(arguments.connection, &v1::RunService::Stub::StopRun, request).status();
}

// The run has ended. Adds to `started` what goes on.
absl::Status StartAll(const RunSplitArguments& arguments, const NewRuns& runs,
                      v1::ListRunsResponse& started) {
  ASSIGN_OR_RETURN(const std::vector<std::string> models, ModelsOf(arguments, runs));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ASSIGN_OR_RETURN(v1::StartRunResponse answer,
                     CallStartRun(arguments.connection, runs[i].config, models[i]));
    RETURN_IF_ERROR(MustGoOn(answer.run()));
    *started.add_runs() = std::move(*answer.mutable_run());
  }
  return absl::OkStatus();
}

absl::Status Split(const RunSplitArguments& arguments) {
  const std::string& base = arguments.name.empty() ? arguments.run : arguments.name;
  ASSIGN_OR_RETURN(const v1::GetRunResponse response, GetRun(arguments, arguments.run));
  RETURN_IF_ERROR(MustHaveClusters(response));
  ASSIGN_OR_RETURN(NewRuns runs, RunsOf(response.run(), response.clusters(), base));
  RETURN_IF_ERROR(CheckFree(arguments, response.run(), runs));
  RETURN_IF_ERROR(ModelsOf(arguments, runs).status());
  v1::ListRunsResponse started;
  if (arguments.check) {
    started = PlannedRuns(runs);
  } else {
    if (!HasEnded(response.run())) {
      const absl::Status stop = Stop(arguments);
      // Rounds may have been committed meanwhile, the last one too. From here on nothing changes.
      ASSIGN_OR_RETURN(const v1::GetRunResponse stopped, GetRun(arguments, arguments.run));
      if (!HasEnded(stopped.run())) {
        return stop.ok() ? Failed("the aggregator has stopped the run, and says that it goes on") : stop;
      }
      ASSIGN_OR_RETURN(runs, RunsOf(stopped.run(), response.clusters(), base));
    }
    RETURN_IF_ERROR(WithContext(
        fmt::format("{} has ended, and not all of its new runs are started; the same command does the rest",
                    wire::PeerText(response.run().name())),
        StartAll(arguments, runs, started)));
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
  command.Text("--name", arguments.name, "NAME", "Begins the names of the new runs (default: the run's)");
  command.Flag("--check", arguments.check, "Say what it would start, change nothing");
  command.Json(arguments.json);
  command.Examples(kRunSplitExamples);
}

}  // namespace tributary::cli
