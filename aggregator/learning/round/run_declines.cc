// Of RunState: nodes that say that they cannot do their task.
#include <fmt/format.h>

#include "aggregator/learning/round/run_state.h"

namespace tributary {

absl::StatusOr<bool> RunState::Decline(std::string_view node, std::string_view boot_id, std::uint32_t round,
                                       const TaskDecline& decline, std::int64_t now_ns, RunEvents& events) {
  const auto known = nodes_.find(node);
  if (known == nodes_.end() || known->second.declaration.boot_id != boot_id) {
    return absl::FailedPreconditionError(fmt::format("{} has not joined this run as this process", node));
  }
  ParticipantStatus& status = known->second.status;
  // FedBuff: the version that it trains from may be an older one.
  const bool this_round = round == 0 || round == round_ || (config_.asynchronous() && round < round_);
  if (ended() || !open_ || step_ == RoundStep::kClosing || !this_round) {
    return absl::FailedPreconditionError(fmt::format("round {} is not under way", round));
  }
  const bool repeated = declined_.contains(node);
  if (repeated && (!decline.for_good || !status.cannot_train.empty())) return false;
  const bool asked = config_.asynchronous() ? status.last_round < round_
                                            : step_nodes_.contains(node) && !step_done_.contains(node);
  if (!asked) {
    return absl::FailedPreconditionError(
        fmt::format("{} was not asked in round {}, or its answer has been accepted", node, round_));
  }
  const std::string why = fmt::format("{}: {}", DeclineReasonName(decline.reason), decline.message);
  ++status.declined_tasks;
  status.last_refusal = fmt::format("declined round {}: {}", round_, why);
  if (decline.for_good) status.cannot_train = why;
  given_up_.emplace(node);
  if (!repeated) {
    declined_.emplace(node);
    ++declined_in_step_;
    if (declines_.named.size() < DeclinedTasks::kNamed)
      declines_.named.push_back({std::string(node), decline});
    ++declines_.count;
  }
  EndStepIfDue(now_ns, events);
  StartRoundIfReady(now_ns, events);
  return true;
}

bool RunState::CannotTrain(std::string_view node) const {
  const auto known = nodes_.find(node);
  return known != nodes_.end() && !known->second.status.cannot_train.empty();
}

void RunState::ForgetDeclines() {
  declined_.clear();
  declines_ = {};
}

std::string RunState::WhyTooFew(std::size_t done, std::size_t needed) const {
  std::string why = fmt::format("{} of {} nodes answered, {} are needed", done, step_nodes_.size(), needed);
  if (declines_.count == 0) return why;
  const DeclinedTasks::One& first = declines_.named.front();
  return why + fmt::format("; {} declined, {} because of {}: {}", declines_.count, first.node,
                           DeclineReasonName(first.decline.reason), first.decline.message);
}

}  // namespace tributary
