#include "aggregator/learning/round/round.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tributary::learning {

Round::Round(RoundPlan plan, RoundStep first) : plan_(std::move(plan)), step_(first) {
  line_.set_round(number());
  line_.set_asked(static_cast<std::uint32_t>(started().asked_size()));
}

const v1::AskedNode* Round::Asked(std::string_view node) const {
  const auto found = std::ranges::lower_bound(started().asked(), node, {}, &v1::AskedNode::node);
  return found != started().asked().end() && found->node() == node ? &*found : nullptr;
}

v1::Round Round::Report() const {
  v1::Round line = line_;
  line.set_dropped(static_cast<std::uint32_t>(Missing().size()));
  return line;
}

TaskKind Round::TaskOf(RoundStep step) {
  static constexpr std::array<TaskKind, 4> kTasks = {TaskKind::kAdvertiseKeys, TaskKind::kShareKeys,
                                                     TaskKind::kTrain, TaskKind::kUnmask};
  return kTasks[static_cast<std::size_t>(step)];
}

std::optional<TaskKind> Round::TaskFor(const v1::Participant& node) const {
  if (step_ == RoundStep::kClosing || StandingOf(node) != Standing::kAwaited) return std::nullopt;
  return TaskOf(step_);
}

void Round::Release(const v1::UpdateHeader& header) {
  if (Covers(header.round())) updates_.Release(header.node());
}

void Round::Accept(const v1::UpdateHeader& header, double weight) {
  updates_.Release(header.node());
  updates_.Add(header, weight);
  Finish(header.node());
}

void Round::Decline(const v1::DeclineTaskRequest& decline) {
  GiveUp(decline.node());
  if (!declined_.emplace(decline.node()).second) return;
  ++declined_in_step_;
  line_.set_declined(line_.declined() + 1);
  if (line_.declines_size() == kNamedDeclines) return;
  v1::RoundDecline& named = *line_.add_declines();
  named.set_node(decline.node());
  named.set_reason(DeclineName(decline.reason()));
  named.set_message(decline.message());
}

absl::Status Round::FinishStep(std::string_view /*node*/, RoundStep /*step*/) {
  return absl::FailedPreconditionError(fmt::format("round {} is not at that step", number()));
}

void Round::Restore(RoundStep step) {
  if (step == RoundStep::kClosing) {
    Close();
  } else {
    BeginStep(step, deadline_ns());
  }
}

void Round::BeginStep(RoundStep step, std::int64_t deadline_ns) {
  step_ = step;
  MoveDeadline(deadline_ns);
  declined_in_step_ = 0;
  if (step > RoundStep::kTraining) updates_.ReleaseAll();
}

RoundProgress Round::Close() {
  BeginStep(RoundStep::kClosing, kNoDeadline);
  return {RoundTurn::kClosed};
}

void Round::ForgetDeclines() {
  declined_.clear();
  line_.clear_declined();
  line_.clear_declines();
}

}  // namespace tributary::learning
