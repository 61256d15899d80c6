// Of RunState: the rounds of a relayed run, which are the parent's.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "aggregator/learning/round/run_state.h"

namespace tributary {

absl::Status RunState::Begin(const ParentRound& round, std::int64_t now_ns, RunEvents& events) {
  if (!config_.relayed || ended())
    return absl::FailedPreconditionError("the run is not under way as a parent's");
  if (open_ && open_->round == round.round && model_.model == round.model) {
    if (step_ == RoundStep::kTraining) deadline_ns_ = round.deadline_ns;
    return absl::OkStatus();
  }
  if (round.round <= round_) {
    return absl::FailedPreconditionError(fmt::format(
        "round {} of the parent does not come after round {}: another run of the same name, or one "
        "whose result is known",
        round.round, round_));
  }
  if (open_) Fail(fmt::format("the parent has gone on to round {}", round.round), events);
  model_.model = round.model;
  next_ = round;
  gathered_ns_ = now_ns + std::min(kGatherNs, (round.deadline_ns - now_ns) / 2);
  return absl::OkStatus();
}

std::optional<RoundStarted> RunState::TakeParentRound(std::int64_t now_ns) {
  if (!next_) return std::nullopt;
  RoundStarted round{next_->round, {}, next_->fixed_point};
  std::uint64_t left = next_->sample_count;
  for (AskedNode& node : Ready()) {
    if (node.sample_count > left) continue;
    left -= node.sample_count;
    round.asked.push_back(std::move(node));
  }
  // After a restart the nodes come back one after the other.
  if (left > 0 && now_ns < gathered_ns_) return std::nullopt;
  next_.reset();
  if (round.asked.empty()) return std::nullopt;
  round_ = round.round;
  return round;
}

}  // namespace tributary
