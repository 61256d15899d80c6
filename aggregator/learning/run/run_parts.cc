#include "aggregator/learning/run/run_parts.h"

#include <fmt/format.h>

#include <utility>

#include "core/runtime/log.h"

namespace tributary::learning {
namespace {

std::optional<NodeClusters> ClustersOf(const RunConfig& config, const parameters::ModelLayout& layout) {
  if (config.clusters.most == 0 || config.relayed) return std::nullopt;
  return NodeClusters(config.clusters.most, parameters::FindStatistics(layout.tensors));
}

}  // namespace

RunParts::RunParts(const RunSurroundings& around, std::string_view config, RunRules decisions,
                   RunModel present)
    : surroundings(around),
      config_text(std::make_shared<const std::string>(config)),
      rules(std::move(decisions)),
      state(rules.state()),
      model(std::move(present)),
      node_clusters(ClustersOf(state.config, model.layout())),
      sum(around.store, model.layout().element_count, model.strategy().needs_every_update(),
          state.config.client.clip_norm(), node_clusters ? &*node_clusters : nullptr),
      journal(around, name()) {}

v1::StoredRun RunParts::Stored() const {
  v1::StoredRun stored = state.Snapshot();
  const bool open = stored.has_open();
  stored.set_failure(account.failure);
  stored.set_relayed(relayed());
  stored.set_defaults(state.config.defaults);
  stored.set_accepted_updates(account.accepted - (open ? sum.updates().size() : 0));
  stored.set_refused_updates(account.refused - (open ? account.round_refused : 0));
  stored.set_declined_tasks(account.declined);
  stored.set_epsilon(account.epsilon);
  if (clusters != nullptr) *stored.mutable_clusters() = *clusters;
  if (!open) return stored;
  stored.mutable_open()->set_started_unix_ns(account.round_started_unix_ns);
  stored.mutable_open()->set_refused_updates(account.round_refused);
  return stored;
}

bool RunParts::Healthy(const absl::Status& status) {
  if (status.ok()) return true;
  const std::string why(status.message());
  runtime::LogError("run {} has failed, nothing is overwritten: {}", name(), why);
  const std::string next =
      relayed() ? "It goes on when the aggregator is restarted"
                : fmt::format(
                      "If the disk is in order again: tributary run resume {}; to give the run up: "
                      "tributary run delete {}",
                      name(), name());
  health = absl::UnavailableError(fmt::format("run \"{}\" has failed: {}. {}", name(), why, next));
  account.changed = true;
  return false;
}

void RunParts::ReleaseIfEnded() {
  if (!state.ended() || state.under_way() != nullptr || model.released()) return;
  model.Release();
  sum.Clear();
  if (node_clusters) node_clusters->Release();
}

void RunParts::CountRefusal() {
  ++account.round_refused;
  ++account.refused;
  account.changed = true;
}

}  // namespace tributary::learning
