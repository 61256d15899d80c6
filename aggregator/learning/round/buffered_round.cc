#include "aggregator/learning/round/buffered_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tributary::learning {

BufferedRound::BufferedRound(const RunConfig& config, RoundStarted started, std::int64_t deadline_ns)
    : Round(std::move(started), RoundStep::kTraining, deadline_ns), config_(config) {
  for (const AskedNode& each : this->started().asked) heaviest_ = std::max(heaviest_, each.weight);
}

Standing BufferedRound::StandingOf(const ParticipantStatus& node) const {
  if (node.last_round >= number()) return Standing::kNotAwaited;
  // Without samples it has no task, but may still decline the one that it had.
  const bool given_up = node.sample_count == 0 || given_up_.contains(node.node);
  return given_up ? Standing::kGivenUp : Standing::kAwaited;
}

std::optional<Admission> BufferedRound::Refuse(const SubmissionHeader& header,
                                               const ParticipantStatus& sender, const ModelVersions& versions,
                                               std::int64_t /*now_ns*/) const {
  if (step() != RoundStep::kTraining) {
    return Admission::Refused(SubmissionRefusal::kBusy, fmt::format("round {} is being averaged", number()),
                              true);
  }
  const std::uint32_t staleness = number() - header.round;
  if (header.round == 0 || staleness > versions.earlier()) {
    return Admission::Refused(SubmissionRefusal::kStale,
                              fmt::format("round {} is {} behind, at most {} are taken", header.round,
                                          staleness, versions.earlier()));
  }
  if (header.round < sender.last_round) {
    return Admission::Refused(SubmissionRefusal::kStale, "a newer update of this node has been taken");
  }
  return std::nullopt;
}

Admission BufferedRound::Weigh(const SubmissionHeader& header, double weight) const {
  return Admission::Go(std::min(weight, heaviest_) *
                       std::pow(1.0 + (number() - header.round), -config_.buffer.staleness_exponent));
}

void BufferedRound::Finish(std::string_view node) {
  if (const auto found = given_up_.find(node); found != given_up_.end()) given_up_.erase(found);
}

RoundProgress BufferedRound::Advance(std::int64_t now_ns) {
  if (step() == RoundStep::kClosing) return {};
  const bool full = updates().count() >= config_.buffer.size;
  if (!full && now_ns < deadline_ns()) return {};
  if (updates().count() >= config_.quorum) return Close();
  MoveDeadline(now_ns + config_.deadline_ns);  // nothing is lost by waiting on
  given_up_.clear();                           // what kept them may have passed
  ForgetDeclines();
  return {RoundTurn::kProlonged};
}

}  // namespace tributary::learning
