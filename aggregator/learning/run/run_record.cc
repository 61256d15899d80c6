// What a run shows of itself.
#include "aggregator/learning/run/run_record.h"

#include <string>

#include "aggregator/learning/run/round_report.h"
#include "aggregator/learning/run/run.h"

namespace tributary::learning {
namespace {

v1::RunState StateOf(RunPhase phase) {
  switch (phase) {
    case RunPhase::kWaiting:
      return v1::RUN_STATE_WAITING;
    case RunPhase::kRunning:
      return v1::RUN_STATE_RUNNING;
    case RunPhase::kPaused:
      return v1::RUN_STATE_PAUSED;
    case RunPhase::kFinished:
      return v1::RUN_STATE_FINISHED;
    case RunPhase::kStopped:
      return v1::RUN_STATE_STOPPED;
  }
  return v1::RUN_STATE_UNSPECIFIED;
}

// Where it stands, and why.
void AddState(const RunState& state, const std::string& failure, v1::Run& run) {
  run.set_state(StateOf(state.phase()));
  run.set_message(state.StatusMessage());
  if (!failure.empty()) {
    run.set_state(v1::RUN_STATE_FAILED);
    run.set_message(failure);
  } else if (state.config().relayed && run.state() == v1::RUN_STATE_STOPPED) {
    run.set_state(v1::RUN_STATE_FINISHED);
    run.set_message("the parent's run has ended");
  }
}

}  // namespace

RunRecord Run::Record() const {
  const RunConfig& config = state_.config();
  RunRecord record;
  v1::Run& run = record.run;
  run.set_name(config.name);
  AddState(state_, health_.ok() ? account_.failure : std::string(health_.message()), run);
  run.set_strategy(config.relayed ? "relayed" : std::string(StrategyName(config.strategy.kind)));
  // A parent that keeps its schedule to itself does not tell how many.
  if (!config.relayed || config.client.schedule_steps() > 0) run.set_rounds(config.rounds);
  run.set_committed_rounds(state_.committed());
  run.set_joined_nodes(static_cast<std::uint32_t>(state_.joined()));
  run.set_connected_nodes(static_cast<std::uint32_t>(state_.connected()));
  run.set_unable_nodes(static_cast<std::uint32_t>(state_.unable()));
  run.set_accepted_updates(static_cast<std::uint32_t>(sum_.updates().size()));
  run.set_quorum(config.quorum);
  if (state_.round() != 0) {
    run.set_round(state_.round());
    run.set_asked_nodes(account_.asked);
    run.set_round_refused_updates(static_cast<std::uint32_t>(account_.round_refused));
  }
  if (state_.deadline_ns() != RunState::kNoDeadline) {
    run.set_deadline_unix_ns(surroundings_.clock.UnixNs() + state_.deadline_ns() -
                             surroundings_.clock.SteadyNs());
  }
  run.set_refused_updates(account_.refused);
  run.set_total_accepted_updates(account_.accepted);
  run.set_total_declined_tasks(account_.declined);
  run.set_element_count(model_.layout().element_count);
  run.set_model_sha256(account_.model.sha256);
  run.set_started_unix_ns(account_.started_unix_ns);
  run.set_epsilon(account_.epsilon);
  run.set_delta(config.privacy.delta);
  record.config = config_text_;
  record.model_round = account_.model.round;
  record.history_changes = journal_.history_changes();
  record.last_committed = account_.last_committed;
  record.last_evaluated = account_.last_evaluated;
  record.to_judge = RoundToJudge();
  return record;
}

std::optional<std::uint32_t> Run::RoundToJudge() const {
  const std::uint32_t every = state_.config().evaluation.every_rounds;
  if (!surroundings_.judged || relayed() || !health_.ok() || every == 0 || account_.last == nullptr) {
    return std::nullopt;
  }
  const v1::Round& last = *account_.last;
  if (!IsCommitted(last) || last.has_evaluation() || last.round() == account_.unjudgeable_round) {
    return std::nullopt;
  }
  const RunPhase phase = state_.phase();
  const bool over = phase == RunPhase::kFinished || phase == RunPhase::kStopped || !account_.failure.empty();
  return over || state_.committed() % every == 0 ? std::optional(last.round()) : std::nullopt;
}

}  // namespace tributary::learning
