#include "aggregator/learning/run/run_record.h"

#include <algorithm>
#include <string>
#include <utility>

#include "aggregator/learning/run/run_parts.h"

namespace tributary::learning {
namespace {

// So many nodes are named in a line; the counts are of all.
constexpr std::size_t kNamedContributions = 1'000;

std::optional<std::uint32_t> RoundToJudge(const RunParts& run) {
  const RunState& state = run.state;
  const std::uint32_t every = state.config.evaluation.every_rounds;
  const Journal::Line& last = run.journal.last();
  if (!run.surroundings.judged || run.relayed() || !run.health.ok() || every == 0 || last == nullptr) {
    return std::nullopt;
  }
  if (!IsCommitted(*last) || last->has_evaluation() || last->round() == run.account.unjudgeable_round) {
    return std::nullopt;
  }
  const RunPhase phase = state.phase();
  const bool over =
      phase == RunPhase::kFinished || phase == RunPhase::kStopped || !run.account.failure.empty();
  return over || state.committed % every == 0 ? std::optional(last->round()) : std::nullopt;
}

// Where it stands, and why.
void AddState(const RunState& state, const std::string& failure, v1::Run& run) {
  static constexpr v1::RunState kStates[] = {v1::RUN_STATE_WAITING, v1::RUN_STATE_RUNNING,
                                             v1::RUN_STATE_PAUSED, v1::RUN_STATE_FINISHED,
                                             v1::RUN_STATE_STOPPED};  // by RunPhase
  run.set_state(kStates[static_cast<std::size_t>(state.phase())]);
  run.set_message(state.StatusMessage());
  if (!failure.empty()) {
    run.set_state(v1::RUN_STATE_FAILED);
    run.set_message(failure);
  } else if (state.config.relayed && run.state() == v1::RUN_STATE_STOPPED) {
    run.set_state(v1::RUN_STATE_FINISHED);
    run.set_message("the parent's run has ended");
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
  record.config = run.config_text;
  record.model_round = journal.model().round;
  record.history_changes = journal.history_changes();
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
  double loss = 0;
  double spread = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  std::vector<const v1::UpdateHeader*> named;
  for (const KeptUpdate& each : updates) {
    const v1::UpdateHeader& header = each.header();
    const auto weight = static_cast<double>(header.sample_count());
    loss += weight * header.metrics().loss();
    spread += weight * header.metrics().spread();
    samples += header.sample_count();
    bytes += each.record.payload_bytes();
    named.push_back(&header);
  }
  line.set_accepted(static_cast<std::uint32_t>(updates.size()));
  line.set_sample_count(samples);
  line.set_loss(samples > 0 ? loss / static_cast<double>(samples) : 0);
  line.set_spread(samples > 0 ? spread / static_cast<double>(samples) : 0);
  line.set_received_bytes(bytes);
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
