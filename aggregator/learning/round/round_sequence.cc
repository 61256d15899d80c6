#include "aggregator/learning/round/round_sequence.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

// Whether the contents of a submission, as its header states them, fit the run. `staleness`: by how many
// versions the update is behind; at most versions.earlier(). `partial_sums`: what the sender has declared.
// `words`: what has words in this round. Null if the contents fit.
std::optional<Admission> RefuseContents(const v1::UpdateHeader& header, const RunConfig& config,
                                        const ModelVersions& versions, std::size_t staleness,
                                        bool partial_sums, parameters::UpdateEncoding words) {
  const ModelFacts& model = versions.present();
  if (header.schema_sha256() != parameters::BytesOf(model.schema)) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_SCHEMA, "schema {}, this run's is {}",
                              absl::BytesToHexString(header.schema_sha256()),
                              parameters::HexOf(model.schema));
  }
  if (header.element_count() != model.element_count) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_SCHEMA, "{} elements, the model has {}",
                              header.element_count(), model.element_count);
  }
  const parameters::Sha256& base = versions.Before(staleness);
  if (header.base_model_sha256() != parameters::BytesOf(base)) {
    return Admission::Refused(
        v1::SUBMIT_REFUSAL_BASE_MODEL, "the update is the difference to {}, round {} starts from {}",
        absl::BytesToHexString(header.base_model_sha256()), header.round(), parameters::HexOf(base));
  }
  const bool partial = !header.contributors().empty();
  if (partial != partial_sums) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_CONTRIBUTORS,
                              "{} had {} that its updates are partial sums, this one is{}", header.node(),
                              partial ? "not said" : "said", partial ? "" : " not");
  }
  const parameters::UpdateEncoding encoding = EncodingOf(header);
  const bool needs_words = partial || config.privacy.secure_aggregation;
  if (needs_words ? encoding != words : parameters::HasWords(encoding)) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_ENCODING,
                              "{}: masked updates and partial sums come as {} in this round, others do not",
                              parameters::UpdateEncodingName(encoding),
                              parameters::UpdateEncodingName(words));
  }
  if (header.sample_count() == 0 || header.sample_count() > config.max_samples) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_SAMPLE_COUNT, "{} samples, expected 1 to {}",
                              header.sample_count(), config.max_samples);
  }
  return std::nullopt;
}

// Whether the arithmetic of a round can take what the store has of it. NaN fails everywhere.
absl::Status CheckStored(const v1::StoredRound& open, std::span<const v1::StoredUpdate> accepted) {
  const auto is_weight = [](double weight) { return weight > 0 && std::isfinite(weight); };
  if (open.step() > static_cast<std::uint32_t>(RoundStep::kClosing)) {
    return absl::DataLossError("the stored round is at a step that does not exist");
  }
  if (!std::isnormal(std::ldexp(1.0F, open.fraction_bits())) || !(open.bound() > 0) ||
      !(std::ldexp(open.bound(), open.fraction_bits()) <
        std::ldexp(1.0F, FixedPointOf(open).word_bits - 1))) {
    return absl::DataLossError(fmt::format("the stored round has no fixed point: {} fraction bits, bound {}",
                                           open.fraction_bits(), open.bound()));
  }
  for (const v1::AskedNode& asked : open.asked()) {
    if (is_weight(asked.weight())) continue;
    return absl::DataLossError(
        fmt::format("the stored round gives {} the weight {}", asked.node(), asked.weight()));
  }
  for (const v1::StoredUpdate& update : accepted) {
    if (is_weight(update.weight()) && update.norm() >= 0) continue;
    return absl::DataLossError(fmt::format("the stored update of {} has the weight {} and the norm {}",
                                           update.header().node(), update.weight(), update.norm()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ModelVersions::Restore(const v1::StoredRun& run) {
  earlier_.clear();
  for (const std::string& bytes : run.earlier_models()) {
    if (bytes.size() != sizeof(parameters::Sha256)) {
      return absl::DataLossError("the stored run has a model without its SHA-256");
    }
    std::memcpy(&earlier_.emplace_back(), bytes.data(), bytes.size());
  }
  return absl::OkStatus();
}

RoundSequence::RoundSequence(const RunConfig& config, std::uint64_t lots) : config_(&config) {
  if (config.relayed) {
    source_ = std::make_unique<ParentRounds>(config.weighting);
    parent_ = static_cast<ParentRounds*>(source_.get());
  } else {
    source_ = std::make_unique<DrawnRounds>(config, lots);
  }
}

Admission RoundSequence::Judge(const v1::UpdateHeader& header, const Roster::Node& sender,
                               const ModelVersions& versions, std::int64_t now_ns) const {
  if (header.round() > last_) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_FUTURE_ROUND, "round {}, the last is {}", header.round(),
                              last_);
  }
  if (!round_ && config_->asynchronous()) {
    return Admission::TryAgain(v1::SUBMIT_REFUSAL_BUSY, "round {} is being averaged", last_);
  }
  if (!round_) return Admission::Refused(v1::SUBMIT_REFUSAL_STALE, "round {} is over", header.round());
  if (auto refusal = round_->Refuse(header, sender.status, versions.earlier(), now_ns))
    return *std::move(refusal);
  const std::size_t staleness = round_->number() - header.round();
  const bool partial_sums = sender.declaration.partial_sums();
  const parameters::UpdateEncoding words = FixedPointOf(round_->started()).wide()
                                               ? parameters::UpdateEncoding::kFixed64
                                               : parameters::UpdateEncoding::kFixed32;
  if (auto refusal = RefuseContents(header, *config_, versions, staleness, partial_sums, words)) {
    return *std::move(refusal);
  }
  return round_->Weigh(header, WeightOf(config_->weighting, header.sample_count()));
}

void RoundSequence::StartIfReady(const Roster& roster, std::int64_t now_ns, RunOutcome& outcome) {
  if (round_) return;
  std::optional<RoundPlan> plan = source_->Next(roster, last_, now_ns);
  if (!plan) return;
  round_ = MakeRound(*config_, *std::move(plan));
  outcome.started = true;
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
      outcome.step = true;
      break;
    case RoundTurn::kClosed:
      CountDropped(roster);
      outcome.closed = true;
      break;
    case RoundTurn::kFailed:
      RestAfterFailure(deadline_ns, now_ns);
      Fail(progress.reason, roster, outcome);
      break;
  }
  return true;
}

void RoundSequence::RestAfterFailure(std::int64_t deadline_ns, std::int64_t now_ns) {
  if (now_ns < deadline_ns) source_->Rest(deadline_ns, now_ns);
}

void RoundSequence::FailEarly(std::string_view reason, Roster& roster, std::int64_t now_ns,
                              RunOutcome& outcome) {
  RestAfterFailure(round_->deadline_ns(), now_ns);
  Fail(reason, roster, outcome);
}

void RoundSequence::Fail(std::string_view reason, Roster& roster, RunOutcome& outcome) {
  CountDropped(roster);
  outcome.failed = round_->Report();
  outcome.failed->set_failure(std::string(reason));
  round_.reset();
}

void RoundSequence::Commit() {
  source_->EndRests();
  round_.reset();
}

std::int64_t RoundSequence::next_ns(std::int64_t now_ns) const {
  return round_ ? round_->deadline_ns() : source_->next_ns(now_ns);
}

void RoundSequence::CountDropped(Roster& roster) const {
  for (const std::string& node : round_->Missing()) roster.CountDropped(node);
}

absl::Status RoundSequence::RestoreRound(const v1::StoredRound& open,
                                         std::span<const v1::StoredUpdate> accepted, Roster& roster) {
  RETURN_IF_ERROR(CheckStored(open, accepted));
  for (const v1::AskedNode& asked : open.asked()) roster.RestoreAsked(asked);
  round_ = MakeRound(*config_, {last_, open, kNoDeadline});
  round_->Restore(open.closed() ? RoundStep::kClosing : static_cast<RoundStep>(open.step()));
  // FedBuff may take two updates of a node, from different versions.
  std::set<std::pair<std::string_view, std::uint32_t>> seen;
  for (const v1::StoredUpdate& update : accepted) {
    const v1::UpdateHeader& header = update.header();
    if (!seen.emplace(header.node(), config_->asynchronous() ? header.round() : 0).second) {
      return absl::DataLossError(fmt::format("two updates of {} in round {}", header.node(), last_));
    }
    round_->Accept(header, update.weight());
    roster.RestoreAccepted(header.node(), header.round());
  }
  return absl::OkStatus();
}

void RoundSequence::GoOnAfterRestart(Roster& roster, std::int64_t now_ns, RunOutcome& outcome) {
  if (!round_) return;
  if (config_->privacy.secure_aggregation) {
    Fail("the aggregator was restarted and does not keep keys", roster, outcome);
  } else if (closed()) {
    outcome.closed = true;
  } else {
    round_->MoveDeadline(now_ns + config_->deadline_ns);
  }
}

}  // namespace tributary::learning
