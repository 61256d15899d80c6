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
#include "cli/run/split_plan.h"
#include "cli/run/start_call.h"
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
new run starts from the run's present model, has the settings of its file, min_nodes and quorum in proportion and of no more
nodes than are connected, takes the nodes of its cluster alone, and does the rounds that were left, or all if none were. Nodes
that are like no other, or are not judged yet, are in none of them. Nothing is stopped where names are taken or the aggregator has no room. Doing it again does what was
left to do.)";

struct RunSplitArguments {
  ConnectionArguments connection;
  std::string run;
  std::string name;  // that new runs' names begin with; empty: that of the run
  bool check = false;
  bool json = false;
};

absl::Status Failed(std::string message) {
  return WithExitCode(absl::FailedPreconditionError(std::move(message)), runtime::kExitFailure);
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
absl::Status CheckFree(const RunSplitArguments& arguments, const v1::Run& run,
                       const std::vector<NewRun>& runs) {
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
    if (!IsOfSamePlan(each, other.run().config())) return Failed(taken);
  }
  const std::uint32_t room = present.room() + (HasEnded(run) ? 0 : 1);
  if (!present.has_room() || needed <= room) return absl::OkStatus();
  return Failed(
      fmt::format("{} runs would be started, and the aggregator has room for {} (federation.max_runs): stop "
                  "others first (tributary run list, tributary run stop NAME)",
                  needed, room));
}

// The initial models of the runs.
absl::StatusOr<std::vector<std::string>> ModelsOf(const RunSplitArguments& arguments,
                                                  const std::vector<NewRun>& runs) {
  ASSIGN_OR_RETURN(const ModelFile model, ReadModelSource("run:" + arguments.run, arguments.connection));
  std::vector<std::string> models;
  for (const NewRun& each : runs) {
    ASSIGN_OR_RETURN(models.emplace_back(), AsInitialModel(model.bytes, arguments.run, each.parsed));
  }
  return models;
}

void PrintPlan(const v1::GetRunResponse& response, const SplitPlan& plan) {
  const v1::Clusters& found = response.clusters();
  int number = 0;
  for (const NewRun& each : plan.runs) {
    std::cout << fmt::format("{}: {} rounds, {} nodes, at least {}: {}\n", each.parsed.name,
                             each.parsed.rounds, each.parsed.nodes.size(), each.parsed.min_nodes,
                             NamesText(found.clusters(number++).nodes()));
  }
  const v1::RunSplit& outside = plan.outside;
  if (!outside.alone().empty()) std::cout << "in no run: " << NamesText(outside.alone()) << "\n";
  if (!outside.not_judged().empty()) {
    std::cout << "not judged yet, and in no run: " << NamesText(outside.not_judged()) << "\n";
  }
  if (!outside.away().empty()) std::cout << "away now: " << NamesText(outside.away()) << "\n";
  if (found.missing_since() > 0) {
    std::cout << fmt::format("found after round {}, not again since round {}: {}\n", found.round(),
                             found.missing_since(), wire::PeerText(found.message()));
  }
  std::cout << fmt::format("a node whose configuration names {} takes part in none of them\n",
                           wire::PeerText(response.run().name()));
}

v1::RunSplit Planned(const SplitPlan& plan) {
  v1::RunSplit planned = plan.outside;
  for (const NewRun& each : plan.runs) {
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
absl::Status StartAll(const RunSplitArguments& arguments, const std::vector<NewRun>& runs,
                      v1::RunSplit& started) {
  ASSIGN_OR_RETURN(const std::vector<std::string> models, ModelsOf(arguments, runs));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ASSIGN_OR_RETURN(v1::StartRunResponse answer,
                     CallStartRun(arguments.connection, runs[i].config, models[i]));
    RETURN_IF_ERROR(MustGoOn(answer.run()));
    *started.add_runs() = std::move(*answer.mutable_run());
  }
  return absl::OkStatus();
}

// Stops the run, if it goes on still. Afterwards nothing of it changes, so that the same command can do what
// is left.
absl::StatusOr<v1::GetRunResponse> Stopped(const RunSplitArguments& arguments, v1::GetRunResponse response) {
  if (HasEnded(response.run())) return response;
  const absl::Status stop = Stop(arguments);
  // Rounds may have been committed meanwhile, the last one too.
  ASSIGN_OR_RETURN(response, GetRun(arguments, arguments.run));
  if (!HasEnded(response.run())) {
    return stop.ok() ? Failed("the aggregator has stopped the run, and says that it goes on") : stop;
  }
  return response;
}

absl::Status Split(const RunSplitArguments& arguments) {
  const std::string& base = arguments.name.empty() ? arguments.run : arguments.name;
  if (!learning::IsPlainName(base) || arguments.name.starts_with('.') || arguments.name.starts_with('-')) {
    return absl::InvalidArgumentError(
        fmt::format("--name: {} must have at most {} letters, digits, '-', '_' and '.', and begin with none "
                    "of '-' and '.'",
                    base, learning::kMostPlainName));
  }
  ASSIGN_OR_RETURN(v1::GetRunResponse response, GetRun(arguments, arguments.run));
  RETURN_IF_ERROR(MustHaveClusters(response));
  const std::set<std::string> connected = ConnectedNodes(response);
  ASSIGN_OR_RETURN(SplitPlan plan, PlanSplit(response, base, connected));
  RETURN_IF_ERROR(CheckFree(arguments, response.run(), plan.runs));
  RETURN_IF_ERROR(ModelsOf(arguments, plan.runs).status());
  v1::RunSplit said;
  if (arguments.check) {
    said = Planned(plan);
  } else {
    ASSIGN_OR_RETURN(response, Stopped(arguments, std::move(response)));
    // Its nodes may have been divided anew, too.
    ASSIGN_OR_RETURN(plan, PlanSplit(response, base, connected));
    said = plan.outside;
    RETURN_IF_ERROR(WithContext(
        fmt::format("{} has ended, and not all of its new runs are started; the same command does the rest",
                    wire::PeerText(response.run().name())),
        StartAll(arguments, plan.runs, said)));
  }
  if (arguments.json) {
    std::cout << wire::MessageJson(said) << "\n";
  } else {
    PrintPlan(response, plan);
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
