#include "aggregator/learning/round/round.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tributary::learning {

Round::Round(RoundStarted started, RoundStep first, std::int64_t deadline_ns)
    : started_(std::move(started)), step_(first), deadline_ns_(deadline_ns) {}

const AskedNode* Round::Asked(std::string_view node) const {
  const auto found = std::ranges::lower_bound(started_.asked, node, {}, &AskedNode::node);
  return found != started_.asked.end() && found->node == node ? &*found : nullptr;
}

TaskKind Round::TaskOf(RoundStep step) {
  static constexpr std::array<TaskKind, 4> kTasks = {TaskKind::kAdvertiseKeys, TaskKind::kShareKeys,
                                                     TaskKind::kTrain, TaskKind::kUnmask};
  return kTasks[static_cast<std::size_t>(step)];
}

std::optional<TaskKind> Round::TaskFor(const ParticipantStatus& node) const {
  if (step_ == RoundStep::kClosing || StandingOf(node) != Standing::kAwaited) return std::nullopt;
  return TaskOf(step_);
}

void Round::Release(const SubmissionHeader& header) {
  if (Covers(header.round)) updates_.Release(header.node);
}

void Round::Accept(const SubmissionHeader& header, double weight) {
  updates_.Release(header.node);
  updates_.Add(header, weight);
  Finish(header.node);
}

void Round::Decline(std::string_view node, const parameters::TaskDecline& decline) {
  GiveUp(node);
  if (!declined_.emplace(node).second) return;
  ++declined_in_step_;
  ++declines_.count;
  if (declines_.named.size() < DeclinedTasks::kNamed) declines_.named.push_back({std::string(node), decline});
}

absl::Status Round::FinishStep(std::string_view /*node*/, RoundStep /*step*/) {
  return absl::FailedPreconditionError(fmt::format("round {} is not at that step", number()));
}

void Round::Restore(RoundStep step) {
  if (step == RoundStep::kClosing) {
    Close();
  } else {
    BeginStep(step, deadline_ns_);
  }
}

void Round::BeginStep(RoundStep step, std::int64_t deadline_ns) {
  step_ = step;
  deadline_ns_ = deadline_ns;
  declined_in_step_ = 0;
  if (step > RoundStep::kTraining) updates_.ReleaseAll();
}

RoundProgress Round::Close() {
  BeginStep(RoundStep::kClosing, kNoDeadline);
  return {RoundTurn::kClosed};
}

void Round::ForgetDeclines() {
  declined_.clear();
  declines_ = {};
}

}  // namespace tributary::learning
