#include "aggregator/learning/round/plain_round.h"

#include <fmt/format.h>

#include <utility>

#include "aggregator/learning/round/contents.h"

namespace tributary::learning {

PlainRound::PlainRound(const RunConfig& config, RoundStarted started, std::int64_t deadline_ns)
    : PlainRound(config, std::move(started), RoundStep::kTraining, deadline_ns) {}

PlainRound::PlainRound(const RunConfig& config, RoundStarted started, RoundStep first,
                       std::int64_t deadline_ns)
    : Round(std::move(started), first, deadline_ns), config_(config) {
  for (const AskedNode& each : this->started().asked) turnout_.Add(each.node);
}

Standing PlainRound::StandingOf(const ParticipantStatus& node) const {
  if (!turnout_.Asked(node.node) || turnout_.Done(node.node)) return Standing::kNotAwaited;
  return turnout_.HasGivenUp(node.node) ? Standing::kGivenUp : Standing::kAwaited;
}

std::optional<Admission> PlainRound::Refuse(const SubmissionHeader& header,
                                            const ParticipantStatus& /*sender*/,
                                            const ModelVersions& /*versions*/, std::int64_t now_ns) const {
  if (header.round < number() || step() > RoundStep::kTraining) {
    return Admission::Refused(SubmissionRefusal::kStale, fmt::format("round {} is over", header.round));
  }
  if (step() < RoundStep::kTraining || !turnout_.Asked(header.node)) {
    return Admission::Refused(
        SubmissionRefusal::kNotAsked,
        fmt::format("{} was not asked for an update in round {}", header.node, header.round));
  }
  if (HasDeclined(header.node)) {
    return Admission::Refused(SubmissionRefusal::kNotAsked,
                              fmt::format("{} declined round {}", header.node, header.round));
  }
  if (now_ns > deadline_ns()) {
    return Admission::Refused(SubmissionRefusal::kLate,
                              fmt::format("the deadline of round {} has passed", header.round));
  }
  return std::nullopt;
}

Admission PlainRound::Weigh(const SubmissionHeader& header, double weight) const {
  if (!header.contributors.empty()) {
    // Nobody speaks for a node that speaks for itself, whoever comes first.
    const auto counts = [&](std::string_view node) { return turnout_.Asked(node) || updates().Counts(node); };
    if (auto refusal = RefuseContributors(header, counts)) return *std::move(refusal);
  }
  const AskedNode* asked = Asked(header.node);
  if (weight <= asked->weight) return Admission::Go(weight);
  return Admission::Refused(
      SubmissionRefusal::kSampleCount,
      fmt::format("{} samples, {} had declared {}", header.sample_count, header.node, asked->sample_count));
}

RoundProgress PlainRound::Advance(std::int64_t now_ns) {
  if (step() == RoundStep::kClosing) return {};
  const std::size_t needed = Needed();
  const bool out_of_reach = turnout_.asked() < needed + declined_in_step();
  if (!Complete() && !out_of_reach && now_ns < deadline_ns()) return {};
  if (turnout_.done() >= needed) return EndStep(now_ns);
  return {RoundTurn::kFailed, WhyTooFew(), declined_in_step() > 0 && now_ns < deadline_ns()};
}

void PlainRound::BeginNextStep(RoundStep step, std::int64_t deadline_ns) {
  Turnout next;
  for (const std::string& node : turnout_.DoneNodes()) next.Add(node);
  turnout_ = std::move(next);
  BeginStep(step, deadline_ns);
}

std::vector<std::string> PlainRound::Missing() const {
  std::vector<std::string> missing;
  for (const AskedNode& each : started().asked) {
    if (!updates().Counts(each.node)) missing.push_back(each.node);
  }
  return missing;
}

std::string PlainRound::WhyTooFew() const {
  std::string why =
      fmt::format("{} of {} nodes answered, {} are needed", turnout_.done(), turnout_.asked(), Needed());
  if (declines().count == 0) return why;
  const DeclinedTasks::One& first = declines().named.front();
  return why + fmt::format("; {} declined, {} because of {}: {}", declines().count, first.node,
                           parameters::DeclineReasonName(first.decline.reason), first.decline.message);
}

}  // namespace tributary::learning
