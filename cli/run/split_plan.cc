#include "cli/run/split_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cli/failure.h"
#include "core/config/top_values.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"
#include "core/wire/peer.h"

namespace tributary::cli {
namespace {

using Names = google::protobuf::RepeatedPtrField<std::string>;

// The run of a cluster. `all`: the nodes of all clusters, and those that are alone.
absl::StatusOr<NewRun> RunOfCluster(const v1::Run& run, const Names& nodes, const std::string& name, int all,
                                    const std::set<std::string>& connected) {
  const std::string path = wire::PeerText(run.name());
  ASSIGN_OR_RETURN(const learning::RunConfig whole, learning::ParseRunConfig(run.config(), path));
  const auto size = static_cast<std::uint64_t>(nodes.size());
  const auto here = static_cast<std::uint64_t>(
      std::ranges::count_if(nodes, [&](const std::string& node) { return connected.contains(node); }));
  // As many boards may be away as before, in proportion, and those that are away now.
  const auto share = [size, all, most = here > 0 ? here : size](std::uint32_t of_whole) {
    const auto of = static_cast<std::uint64_t>(std::max(all, 1));
    return static_cast<std::int64_t>(std::min((of_whole * size + of - 1) / of, most));
  };
  const bool left = run.rounds() > run.committed_rounds();
  ASSIGN_OR_RETURN(
      std::string config,
      config::WithTopValues(run.config(), path,
                            {{"name", name},
                             {"model", std::string()},
                             {"nodes", std::vector<std::string>(nodes.begin(), nodes.end())},
                             {"min_nodes", share(whole.min_nodes)},
                             {"quorum", share(whole.quorum)},
                             {"rounds", std::int64_t{run.rounds() - (left ? run.committed_rounds() : 0)}}}));
  ASSIGN_OR_RETURN(learning::RunConfig parsed, learning::ParseRunConfig(config, path));
  return NewRun{std::move(config), std::move(parsed)};
}

// Nodes that are in no cluster, and members of clusters that are away.
v1::RunSplit Outside(const v1::GetRunResponse& run, const std::set<std::string>& connected) {
  const v1::Clusters& found = run.clusters();
  v1::RunSplit outside;
  *outside.mutable_alone() = found.alone();
  outside.set_missing_since(found.missing_since());
  std::set<std::string> judged(found.alone().begin(), found.alone().end());
  for (const v1::Cluster& each : found.clusters()) {
    judged.insert(each.nodes().begin(), each.nodes().end());
    for (const std::string& node : each.nodes()) {
      if (!connected.empty() && !connected.contains(node)) *outside.add_away() = node;
    }
  }
  std::ranges::copy_if(connected, google::protobuf::RepeatedFieldBackInserter(outside.mutable_not_judged()),
                       [&judged](const std::string& node) { return !judged.contains(node); });
  return outside;
}

}  // namespace

std::set<std::string> ConnectedNodes(const v1::GetRunResponse& run) {
  std::set<std::string> connected;
  for (const v1::Participant& each : run.participants()) {
    if (each.connected()) connected.insert(each.node());
  }
  return connected;
}

absl::StatusOr<SplitPlan> PlanSplit(const v1::GetRunResponse& run, std::string_view base,
                                    const std::set<std::string>& connected) {
  int all = run.clusters().alone_size();
  for (const v1::Cluster& cluster : run.clusters().clusters()) all += cluster.nodes_size();
  SplitPlan plan{.runs = {}, .outside = Outside(run, connected)};
  for (const v1::Cluster& cluster : run.clusters().clusters()) {
    const std::string name = fmt::format("{}-{}", base, plan.runs.size() + 1);
    if (name.size() > learning::kMostPlainName) {
      return WithExitCode(
          absl::FailedPreconditionError(fmt::format(
              "the name {} would be too long: --name gives the new runs another one", wire::PeerText(name))),
          runtime::kExitFailure);
    }
    ASSIGN_OR_RETURN(plan.runs.emplace_back(),
                     RunOfCluster(run.run(), cluster.nodes(), name, all, connected));
  }
  return plan;
}

bool IsOfSamePlan(const NewRun& run, const std::string& config) {
  const auto but_for_counts = [&run](const std::string& text) {
    return config::WithTopValues(text, run.parsed.name,
                                 {{"min_nodes", std::int64_t{1}}, {"quorum", std::int64_t{1}}})
        .value_or("");
  };
  const std::string planned = but_for_counts(run.config);
  return !planned.empty() && planned == but_for_counts(config);
}

}  // namespace tributary::cli
