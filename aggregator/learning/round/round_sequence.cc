#include "aggregator/learning/round/round_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace tributary::learning {
namespace {

// Whether the contents of a submission, as its header states them, fit the run. `staleness`: by how many
// versions the update is behind; at most versions.earlier(). `partial_sums`: what the sender has declared.
// Null if the contents fit.
std::optional<Admission> RefuseContents(const SubmissionHeader& header, const RunConfig& config,
                                        const ModelVersions& versions, std::size_t staleness,
                                        bool partial_sums) {
  using enum SubmissionRefusal;
  const ModelFacts& model = versions.present();
  if (header.schema != model.schema) {
    return Admission::Refused(kSchema, "schema {}, this run's is {}", parameters::HexOf(header.schema),
                              parameters::HexOf(model.schema));
  }
  if (header.element_count != model.element_count) {
    return Admission::Refused(kSchema, "{} elements, the model has {}", header.element_count,
                              model.element_count);
  }
  const parameters::Sha256& base = versions.Before(staleness);
  if (header.base_model != base) {
    return Admission::Refused(kBaseModel, "the update is the difference to {}, round {} starts from {}",
                              parameters::HexOf(header.base_model), header.round, parameters::HexOf(base));
  }
  const bool partial = !header.contributors.empty();
  if (partial != partial_sums) {
    return Admission::Refused(kContributors, "{} had {} that its updates are partial sums, this one is{}",
                              header.node, partial ? "not said" : "said", partial ? "" : " not");
  }
  const bool fixed = header.encoding == parameters::UpdateEncoding::kFixed32;
  if (fixed != (partial || config.privacy.secure_aggregation)) {
    return Admission::Refused(kEncoding, "{}: masked updates and partial sums come as fixed32, others do not",
                              parameters::UpdateEncodingName(header.encoding));
  }
  if (header.sample_count == 0 || header.sample_count > config.max_samples) {
    return Admission::Refused(kSampleCount, "{} samples, expected 1 to {}", header.sample_count,
                              config.max_samples);
  }
  return std::nullopt;
}

}  // namespace

RoundSequence::RoundSequence(const RunConfig& config, std::uint64_t lots) : config_(&config) {
  if (config.relayed) {
    source_ = std::make_unique<ParentRounds>(config.weighting);
    parent_ = static_cast<ParentRounds*>(source_.get());
  } else {
    source_ = std::make_unique<DrawnRounds>(config, lots);
    drawn_ = static_cast<DrawnRounds*>(source_.get());
  }
}

Admission RoundSequence::Judge(const SubmissionHeader& header, const Roster::Node& sender,
                               const ModelVersions& versions, std::int64_t now_ns) const {
  using enum SubmissionRefusal;
  if (header.round > last_) {
    return Admission::Refused(kFutureRound, "round {}, the last is {}", header.round, last_);
  }
  if (!round_ && config_->asynchronous()) {
    return Admission::TryAgain(kBusy, "round {} is being averaged", last_);
  }
  if (!round_) return Admission::Refused(kStale, "round {} is over", header.round);
  if (auto refusal = round_->Refuse(header, sender.status, versions.earlier(), now_ns))
    return *std::move(refusal);
  const std::size_t staleness = round_->number() - header.round;
  const bool partial_sums = sender.declaration.partial_sums;
  if (auto refusal = RefuseContents(header, *config_, versions, staleness, partial_sums)) {
    return *std::move(refusal);
  }
  return round_->Weigh(header, WeightOf(config_->weighting, header.sample_count));
}

void RoundSequence::StartIfReady(const Roster& roster, std::int64_t now_ns, RunOutcome& outcome) {
  if (round_) return;
  std::optional<RoundPlan> plan = source_->Next(roster, last_, now_ns);
  if (!plan) return;
  outcome.started = plan->started;
  round_ = MakeRound(*config_, std::move(plan->started), plan->deadline_ns);
  outcome.step = round_->StepUnderWay();
}

bool RoundSequence::EndStepIfDue(Roster& roster, std::int64_t now_ns, RunOutcome& outcome) {
  if (!round_) return false;
  const std::int64_t deadline_ns = round_->deadline_ns();
  const RoundProgress progress = round_->Advance(now_ns);
  switch (progress.turn) {
    case RoundTurn::kNone:
      return false;
    case RoundTurn::kProlonged:
      break;
    case RoundTurn::kStep:
      outcome.step = round_->StepUnderWay();
      break;
    case RoundTurn::kClosed:
      outcome.closed = Closed(CountDropped(roster));
      break;
    case RoundTurn::kFailed:
      if (progress.too_many_declined && drawn_) drawn_->Rest(deadline_ns, now_ns);
      Fail(progress.reason, roster, outcome);
      break;
  }
  return true;
}

void RoundSequence::Fail(std::string_view reason, Roster& roster, RunOutcome& outcome) {
  outcome.failed =
      RoundFailed{round_->number(), std::string(reason), CountDropped(roster), round_->declines()};
  round_.reset();
}

void RoundSequence::Commit() {
  if (drawn_) drawn_->EndRests();
  round_.reset();
}

std::int64_t RoundSequence::next_ns(std::int64_t now_ns) const {
  return round_ ? round_->deadline_ns() : source_->next_ns(now_ns);
}

RoundClosed RoundSequence::Closed(std::vector<std::string> dropped) const {
  return {round_->number(), round_->updates().total_weight(), std::move(dropped)};
}

std::vector<std::string> RoundSequence::CountDropped(Roster& roster) const {
  std::vector<std::string> dropped = round_->Missing();
  for (const std::string& node : dropped) roster.CountDropped(node);
  return dropped;
}

absl::Status RoundSequence::RestoreRound(RoundStarted open, RoundStep step,
                                         const std::vector<AcceptedUpdate>& accepted, Roster& roster) {
  if (open.round != last_) {
    return absl::DataLossError(
        fmt::format("round {} is open, the last one started is {}", open.round, last_));
  }
  std::ranges::sort(open.asked, {}, &AskedNode::node);
  for (const AskedNode& asked : open.asked) roster.RestoreAsked(asked);
  round_ = MakeRound(*config_, std::move(open), kNoDeadline);
  round_->Restore(step);
  // FedBuff may take two updates of a node, from different versions.
  std::set<std::pair<std::string_view, std::uint32_t>> seen;
  for (const AcceptedUpdate& update : accepted) {
    const SubmissionHeader& header = update.header;
    if (!seen.emplace(header.node, config_->asynchronous() ? header.round : 0).second) {
      return absl::DataLossError(fmt::format("two updates of {} in round {}", header.node, last_));
    }
    round_->Accept(header, update.weight);
    roster.RestoreAccepted(header.node, header.round);
  }
  return absl::OkStatus();
}

void RoundSequence::GoOnAfterRestart(Roster& roster, std::int64_t now_ns, RunOutcome& outcome) {
  if (!round_) return;
  if (closed()) {
    outcome.closed = Closed(round_->Missing());  // counted as dropped before the restart
  } else if (config_->privacy.secure_aggregation) {
    Fail("the aggregator was restarted and does not keep keys", roster, outcome);
  } else {
    round_->MoveDeadline(now_ns + config_->deadline_ns);
  }
}

}  // namespace tributary::learning
