// A run's rounds of secure aggregation.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "aggregator/learning/run/run.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

TaskKind TaskOf(RoundStep step) {
  switch (step) {
    case RoundStep::kKeys:
      return TaskKind::kAdvertiseKeys;
    case RoundStep::kShares:
      return TaskKind::kShareKeys;
    default:
      return TaskKind::kUnmask;
  }
}

}  // namespace

absl::Status Run::Take(MaskingMessage message) {
  RETURN_IF_ERROR(health_);
  const std::uint32_t round = message.round;
  const RoundStep step = message.step();
  const std::string node = message.node;
  if (masking_ && state_.round() == round && masking_->HasTaken(step, node)) return absl::OkStatus();
  // Whether the node was asked: its words must not even be kept otherwise.
  const NodeTask task = state_.TaskOf(node);
  if (!masking_ || task.kind != TaskOf(step) || task.round != round) {
    return absl::FailedPreconditionError(
        fmt::format("node \"{}\" was not asked for that in round {}", node, round));
  }
  RETURN_IF_ERROR(masking_->Take(std::move(message)));
  account_.changed = true;
  if (step == RoundStep::kUnmasking) return FinishUnmasking(round);
  return Apply(state_.FinishStep(node, round, step, surroundings_.clock.SteadyNs()));
}

absl::Status Run::FinishUnmasking(std::uint32_t round) {
  if (!masking_->CanUnmask()) {
    if (masking_->AllRevealed()) {
      FailRound(round, absl::AbortedError("too few good shares of a node's secrets"));
    }
    return health_;
  }
  // Some of them may have waited for the shares that they lack. The last one closes the round.
  for (const std::string& node : masking_->revealers()) {
    if (state_.closed() || state_.round() != round) break;
    RETURN_IF_ERROR(
        Apply(state_.FinishStep(node, round, RoundStep::kUnmasking, surroundings_.clock.SteadyNs())));
  }
  return health_;
}

void Run::LeaveOutLiars(std::uint32_t round) {
  if (!masking_) return;
  for (const std::string& node : masking_->at_fault()) {
    spdlog::warn("run {}: {} is left out from now on: it gave out wrong shares in round {}", name(), node,
                 round);
    state_.LeaveOut(node,
                    fmt::format("left out since round {}: it gave out wrong shares of its secrets", round));
  }
}

}  // namespace tributary::learning
