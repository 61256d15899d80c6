// What a run shows of itself.
#include <algorithm>
#include <utility>

#include "aggregator/learning/run/hosted_run.h"

namespace tributary {
namespace {

RunCondition ConditionOf(RunPhase phase) {
  switch (phase) {
    case RunPhase::kWaiting:
      return RunCondition::kWaiting;
    case RunPhase::kRunning:
      return RunCondition::kRunning;
    case RunPhase::kPaused:
      return RunCondition::kPaused;
    case RunPhase::kFinished:
      return RunCondition::kFinished;
    case RunPhase::kStopped:
      return RunCondition::kStopped;
  }
  return RunCondition::kWaiting;
}

}  // namespace

RunView HostedRun::View() const {
  const RunConfig& config = state_.config();
  RunView view;
  view.name = config.name;
  view.condition = ConditionOf(state_.phase());
  view.message = state_.StatusMessage();
  if (!failure_.empty() || !health_.ok()) {
    view.condition = RunCondition::kFailed;
    view.message = health_.ok() ? failure_ : std::string(health_.message());
  }
  view.strategy = StrategyName(config.strategy.kind);
  view.config = config_text_;
  view.rounds = config.rounds;
  view.committed = state_.committed();
  view.round = state_.round();
  if (state_.deadline_ns() != RunState::kNoDeadline) {
    view.deadline_unix_ns =
        surroundings_.clock.UnixNs() + state_.deadline_ns() - surroundings_.clock.SteadyNs();
  }
  view.asked = view.round == 0 ? 0 : asked_;
  view.accepted = static_cast<std::uint32_t>(submissions_.size());
  view.refused = view.round == 0 ? 0 : static_cast<std::uint32_t>(refused_);
  view.totals = totals_;
  view.quorum = config.quorum;
  view.element_count = layout_.element_count;
  view.model_sha256 = model_record_.sha256;
  view.model_round = model_record_.round;
  view.started_unix_ns = started_unix_ns_;
  for (const auto& line : history_) view.epsilon = std::max(view.epsilon, line->epsilon);
  view.delta = config.privacy.delta;
  view.participants = state_.participants();
  view.history = history_;
  view.models = models_;
  view.to_judge = RoundToJudge();
  return view;
}

std::optional<std::uint32_t> HostedRun::RoundToJudge() const {
  const std::uint32_t every = state_.config().evaluation.every_rounds;
  if (!surroundings_.judged || !health_.ok() || every == 0 || history_.empty()) return std::nullopt;
  const RoundLine& last = *history_.back();
  if (!last.committed() || last.judgement || last.round == unjudgeable_round_) return std::nullopt;
  const bool over = ConditionOf(state_.phase()) >= RunCondition::kFinished;
  return over || state_.committed() % every == 0 ? std::optional(last.round) : std::nullopt;
}

void HostedRun::AddJudgement(std::uint32_t round, const std::optional<Judgement>& judgement) {
  if (!judgement) unjudgeable_round_ = round;
  if (!judgement || !health_.ok()) return;
  const auto found = std::find_if(history_.rbegin(), history_.rend(), [round](const auto& line) {
    return line->round == round && line->committed();
  });
  if (found == history_.rend()) return;
  RoundLine line = **found;
  line.judgement = judgement;
  if (Healthy(surroundings_.store.AmendHistory(name(), round, EncodeRoundLine(line)))) {
    *found = std::make_shared<const RoundLine>(std::move(line));
  }
}

}  // namespace tributary
