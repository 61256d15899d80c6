#include "aggregator/learning/round/masked_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::learning {

MaskedRound::MaskedRound(const RunConfig& config, RoundStarted started, std::int64_t deadline_ns)
    : PlainRound(config, std::move(started), RoundStep::kKeys, deadline_ns) {}

absl::Status MaskedRound::FinishStep(std::string_view node, RoundStep at) {
  if (at != step() || at == RoundStep::kTraining || at == RoundStep::kClosing) {
    return absl::FailedPreconditionError(fmt::format("round {} is not at that step", number()));
  }
  if (!turnout().Asked(node)) {
    return absl::FailedPreconditionError(
        fmt::format("{} was not asked for that in round {}", node, number()));
  }
  Finish(node);
  return absl::OkStatus();
}

std::optional<StepStarted> MaskedRound::StepUnderWay() const {
  return StepStarted{number(), step(), turnout().AskedNodes()};
}

std::size_t MaskedRound::Needed() const {
  if (step() == RoundStep::kUnmasking) return threshold_;
  return std::max<std::size_t>(config().quorum, threshold_);
}

bool MaskedRound::Complete() const {
  return step() == RoundStep::kUnmasking ? turnout().done() >= Needed() : PlainRound::Complete();
}

RoundProgress MaskedRound::EndStep(std::int64_t now_ns) {
  static constexpr RoundStep kNext[] = {RoundStep::kShares, RoundStep::kTraining, RoundStep::kUnmasking};
  if (step() >= RoundStep::kUnmasking) return Close();
  if (step() == RoundStep::kKeys) threshold_ = MaskingThreshold(turnout().done());
  BeginNextStep(kNext[static_cast<std::size_t>(step())], now_ns + config().deadline_ns);
  return {RoundTurn::kStep};
}

}  // namespace tributary::learning
