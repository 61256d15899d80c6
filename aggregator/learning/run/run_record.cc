#include "aggregator/learning/run/run_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "aggregator/learning/run/run_parts.h"

namespace tributary::learning {
namespace {

// So many nodes are named in a line; the counts are of all.
constexpr std::size_t kNamedContributions = 1'000;

std::optional<std::uint32_t> RoundToJudge(const RunParts& run) {
  const RunState& state = run.state;
  const std::uint32_t every = state.config.evaluation.every_rounds;
  const Journal::Line& last = run.journal.last();
  if (state.config.client.workload() != kSelfSupervised) return std::nullopt;  // it judges encoders
  if (!run.surroundings.judged || run.relayed() || !run.health.ok() || every == 0 || last == nullptr) {
    return std::nullopt;
  }
  if (!IsCommitted(*last) || last->has_evaluation() || last->round() == run.account.unjudgeable_round) {
    return std::nullopt;
  }
  const bool over = state.ended() || !run.account.failure.empty();
  return over || state.committed % every == 0 ? std::optional(last->round()) : std::nullopt;
}

// The first of the nodes that the run's file names, and that are not connected; empty: none is away.
std::string WhoIsAway(const RunState& state) {
  constexpr std::size_t kMostNamed = 5;
  std::vector<std::string> away;
  for (const std::string& name : state.config.nodes) {
    const Roster::Node* node = state.roster.Find(name);
    if (node == nullptr || !node->status.connected()) away.push_back(name);
  }
  if (away.empty()) return "";
  const std::size_t more = away.size() - std::min(away.size(), kMostNamed);
  away.resize(away.size() - more);
  return fmt::format("; away: {}{}", fmt::join(away, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

// Where it stands, and why.
void AddState(const RunState& state, const std::string& failure, v1::Run& run) {
  run.set_state(state.phase());
  run.set_message(state.StatusMessage());
  if (state.phase() == v1::RUN_STATE_WAITING) run.mutable_message()->append(WhoIsAway(state));
  if (!failure.empty()) {
    run.set_state(v1::RUN_STATE_FAILED);
    run.set_message(failure);
  } else if (state.config.relayed && state.ended()) {
    run.set_message(fmt::format("the parent's run has ended: {}", state.StatusMessage()));
  }
}

}  // namespace

RunRecord RecordOf(const RunParts& run) {
  const RunState& state = run.state;
  const RunConfig& config = state.config;
  const RunAccount& account = run.account;
  const Journal& journal = run.journal;
  const runtime::Clock& clock = run.surroundings.clock;
  RunRecord record;
  v1::Run& shown = record.run;
  shown.set_name(config.name);
  AddState(state, run.health.ok() ? account.failure : std::string(run.health.message()), shown);
  shown.set_strategy(config.relayed ? "relayed" : std::string(StrategyName(config.strategy.kind)));
  // A parent that keeps its schedule to itself does not tell how many.
  if (!config.relayed || config.client.schedule_steps() > 0) shown.set_rounds(config.rounds);
  shown.set_committed_rounds(state.committed);
  shown.set_joined_nodes(static_cast<std::uint32_t>(state.roster.known()));
  shown.set_connected_nodes(static_cast<std::uint32_t>(state.roster.connected()));
  shown.set_unable_nodes(static_cast<std::uint32_t>(state.roster.unable()));
  shown.set_accepted_updates(static_cast<std::uint32_t>(run.sum.updates().size()));
  shown.set_quorum(config.quorum);
  if (state.round() != 0) {
    shown.set_round(state.round());
    shown.set_asked_nodes(state.under_way()->line().asked());
    shown.set_round_refused_updates(static_cast<std::uint32_t>(account.round_refused));
  }
  if (state.deadline_ns() != kNoDeadline) {
    shown.set_deadline_unix_ns(clock.UnixNs() + state.deadline_ns() - clock.SteadyNs());
  }
  shown.set_refused_updates(account.refused);
  shown.set_total_accepted_updates(account.accepted);
  shown.set_total_declined_tasks(account.declined);
  shown.set_element_count(run.model.layout().element_count);
  shown.set_model_sha256(journal.model().sha256);
  shown.set_started_unix_ns(account.started_unix_ns);
  shown.set_epsilon(account.epsilon);
  shown.set_delta(config.privacy.delta);
  shown.set_named_nodes(static_cast<std::uint32_t>(config.nodes.size()));
  record.config = run.config_text;
  record.clusters = run.clusters;
  if (run.clusters != nullptr) shown.set_clusters(static_cast<std::uint32_t>(run.clusters->clusters_size()));
  record.model_round = journal.model().round;
  if (const Journal::Line& last = journal.last(); state.ended() && last != nullptr && last->rolled_back()) {
    shown.set_message(
        fmt::format("{}; rolled back to the model after round {}", shown.message(), last->round()));
  }
  record.history_changes = journal.history_changes();
  record.failed_rounds = account.failed_rounds;
  record.last_committed = journal.last_committed();
  record.last_evaluated = journal.last_evaluated();
  record.to_judge = RoundToJudge(run);
  return record;
}

void AddAccount(const RunParts& run, v1::Round& line) {
  const RunAccount& account = run.account;
  const std::vector<KeptUpdate>& updates = run.sum.updates();
  line.set_started_unix_ns(account.round_started_unix_ns);
  line.set_ended_unix_ns(run.surroundings.clock.UnixNs());
  line.set_refused(static_cast<std::uint32_t>(account.round_refused));
  const v1::UpdateHeader said = run.sum.Said();
  line.set_accepted(static_cast<std::uint32_t>(updates.size()));
  line.set_sample_count(said.sample_count());
  line.set_loss(said.metrics().loss());
  if (said.metrics().has_spread()) line.set_spread(said.metrics().spread());
  if (said.metrics().has_held_out_accuracy()) {
    line.set_held_out_accuracy(said.metrics().held_out_accuracy());
  }
  std::vector<const v1::UpdateHeader*> named;
  for (const KeptUpdate& each : updates) {
    line.set_received_bytes(line.received_bytes() + each.record.payload_bytes());
    named.push_back(&each.header());
  }
  std::ranges::sort(named, {}, &v1::UpdateHeader::node);
  named.resize(std::min(named.size(), kNamedContributions));
  for (const v1::UpdateHeader* each : named) {
    v1::RoundContribution& contribution = *line.add_contributions();
    contribution.set_node(each->node());
    contribution.set_sample_count(each->sample_count());
    contribution.set_loss(each->metrics().loss());
    contribution.set_seconds(each->metrics().seconds());
  }
}

}  // namespace tributary::learning
