// Of RunState: which updates count.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "aggregator/learning/round/run_state.h"

namespace tributary {
namespace {

Admission Refusal(SubmissionRefusal reason, std::string message, bool try_again = false) {
  return {AdmissionVerdict::kRefused, 0, reason, std::move(message), try_again};
}

Admission Go(double weight) {
  Admission admission;
  admission.verdict = AdmissionVerdict::kGo;
  admission.weight = weight;
  return admission;
}

Admission Already() {
  Admission admission;
  admission.verdict = AdmissionVerdict::kAlreadyAccepted;
  return admission;
}

// What is under way may be the node's update of a later round: the end of an earlier one leaves that alone.
void EndUpload(const SubmissionHeader& header, bool any_round,
               std::map<std::string, std::uint32_t, std::less<>>& under_way) {
  const auto found = under_way.find(header.node);
  if (found != under_way.end() && (any_round || found->second == header.round)) under_way.erase(found);
}

// Whether the update itself is at fault, so that sending it again cannot help.
bool IsForGood(SubmissionRefusal reason) {
  switch (reason) {
    case SubmissionRefusal::kSchema:
    case SubmissionRefusal::kBaseModel:
    case SubmissionRefusal::kEncoding:
    case SubmissionRefusal::kSampleCount:
    case SubmissionRefusal::kNotFinite:
    case SubmissionRefusal::kOutOfRange:
    case SubmissionRefusal::kTooLarge:
    case SubmissionRefusal::kContributors:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool RunState::AlreadyAccepted(const SubmissionHeader& header) const {
  const auto node = nodes_.find(header.node);
  return header.round != 0 && node != nodes_.end() && node->second.status.last_round == header.round;
}

std::optional<Admission> RunState::RefuseRound(const SubmissionHeader& header, std::int64_t now_ns) const {
  if (header.round > round_) {
    return Refusal(SubmissionRefusal::kFutureRound,
                   fmt::format("round {}, the last is {}", header.round, round_));
  }
  const bool open = open_ && step_ == RoundStep::kTraining;
  if (config_.asynchronous()) {
    if (!open) {
      return Refusal(SubmissionRefusal::kBusy, fmt::format("round {} is being averaged", round_), true);
    }
    const std::uint32_t staleness = round_ - header.round;
    if (header.round == 0 || staleness > earlier_models_.size()) {
      return Refusal(SubmissionRefusal::kStale, fmt::format("round {} is {} behind, at most {} are taken",
                                                            header.round, staleness, earlier_models_.size()));
    }
    if (header.round < nodes_.find(header.node)->second.status.last_round) {
      return Refusal(SubmissionRefusal::kStale, "a newer update of this node has been taken");
    }
    return std::nullopt;
  }
  if (header.round < round_ || !open_ || step_ > RoundStep::kTraining) {
    return Refusal(SubmissionRefusal::kStale, fmt::format("round {} is over", header.round));
  }
  if (!open || !step_nodes_.contains(header.node)) {
    return Refusal(SubmissionRefusal::kNotAsked,
                   fmt::format("{} was not asked for an update in round {}", header.node, header.round));
  }
  if (declined_.contains(header.node)) {
    return Refusal(SubmissionRefusal::kNotAsked,
                   fmt::format("{} declined round {}", header.node, header.round));
  }
  if (now_ns > deadline_ns_) {
    return Refusal(SubmissionRefusal::kLate,
                   fmt::format("the deadline of round {} has passed", header.round));
  }
  return std::nullopt;
}

std::optional<Admission> RunState::RefuseContents(const SubmissionHeader& header) const {
  if (header.schema != model_.schema) {
    return Refusal(SubmissionRefusal::kSchema,
                   fmt::format("schema {}, this run's is {}", HexOf(header.schema), HexOf(model_.schema)));
  }
  if (header.element_count != model_.element_count) {
    return Refusal(SubmissionRefusal::kSchema,
                   fmt::format("{} elements, the model has {}", header.element_count, model_.element_count));
  }
  const std::size_t staleness = round_ - header.round;
  const Sha256& base = staleness == 0 ? model_.model : earlier_models_[earlier_models_.size() - staleness];
  if (header.base_model != base) {
    return Refusal(SubmissionRefusal::kBaseModel,
                   fmt::format("the update is the difference to {}, round {} starts from {}",
                               HexOf(header.base_model), header.round, HexOf(base)));
  }
  const bool partial = !header.contributors.empty();
  if (partial != nodes_.find(header.node)->second.declaration.partial_sums) {
    return Refusal(SubmissionRefusal::kContributors,
                   fmt::format("{} had {} that its updates are partial sums, this one is{}", header.node,
                               partial ? "not said" : "said", partial ? "" : " not"));
  }
  const bool fixed = header.encoding == UpdateEncoding::kFixed32;
  if (fixed != (partial || config_.privacy.secure_aggregation)) {
    return Refusal(SubmissionRefusal::kEncoding,
                   fmt::format("{}: masked updates and partial sums come as fixed32, others do not",
                               UpdateEncodingName(header.encoding)));
  }
  if (header.sample_count == 0 || header.sample_count > config_.max_samples) {
    return Refusal(SubmissionRefusal::kSampleCount,
                   fmt::format("{} samples, expected 1 to {}", header.sample_count, config_.max_samples));
  }
  return partial ? RefuseContributors(header) : std::nullopt;
}

std::optional<Admission> RunState::RefuseContributors(const SubmissionHeader& header) const {
  Names seen;
  std::vector<std::string> elsewhere;
  std::uint64_t samples = 0;
  for (const Contribution& contribution : header.contributors) {
    const std::string& node = contribution.node;
    if (node.empty() || node == header.node || !seen.insert(node).second) {
      return Refusal(SubmissionRefusal::kContributors,
                     fmt::format("\"{}\" is empty, named twice or the sender itself", node));
    }
    // Nobody speaks for a node that speaks for itself, whoever comes first.
    if (step_nodes_.contains(node) || counted_.contains(node)) elsewhere.push_back(node);
    if (contribution.sample_count == 0 || contribution.sample_count > header.sample_count - samples) {
      return Refusal(SubmissionRefusal::kContributors,
                     fmt::format("the samples of {} do not fit the sum", node));
    }
    samples += contribution.sample_count;
  }
  if (samples != header.sample_count) {
    return Refusal(SubmissionRefusal::kContributors,
                   fmt::format("{} samples, the contributors have {}", header.sample_count, samples));
  }
  if (elsewhere.empty()) return std::nullopt;
  Admission refusal =
      Refusal(SubmissionRefusal::kContributors,
              fmt::format("{} takes part itself or has been counted already, as {} others of {}",
                          elsewhere.front(), elsewhere.size() - 1, header.contributors.size()));
  if (elsewhere.size() == header.contributors.size()) return refusal;  // nothing would be left
  elsewhere.resize(std::min(elsewhere.size(), Admission::kNamed));
  refusal.counted_elsewhere = std::move(elsewhere);
  return refusal;
}

std::optional<Admission> RunState::Refuse(const SubmissionHeader& header, std::int64_t now_ns,
                                          double& weight) const {
  if (ended()) return Refusal(SubmissionRefusal::kNotRunning, StatusMessage());
  if (!nodes_.contains(header.node)) {
    return Refusal(SubmissionRefusal::kNotJoined, fmt::format("{} has not joined this run", header.node));
  }
  if (auto refusal = RefuseRound(header, now_ns)) return refusal;
  if (auto refusal = RefuseContents(header)) return refusal;

  weight = WeightOf(header.sample_count);
  if (config_.asynchronous()) {
    const auto heaviest = std::ranges::max_element(open_->asked, {}, &AskedNode::weight);
    weight = std::min(weight, heaviest->weight) *
             std::pow(1.0 + (round_ - header.round), -config_.buffer.staleness_exponent);
    return std::nullopt;
  }
  const auto asked = std::ranges::find(open_->asked, header.node, &AskedNode::node);
  if (weight > asked->weight) {
    return Refusal(
        SubmissionRefusal::kSampleCount,
        fmt::format("{} samples, {} had declared {}", header.sample_count, header.node, asked->sample_count));
  }
  return std::nullopt;
}

void RunState::Count(const SubmissionHeader& header, const Admission& refusal) {
  ++refused_[static_cast<std::size_t>(refusal.reason)];
  const bool asked = open_ && step_ == RoundStep::kTraining && header.round == round_ &&
                     step_nodes_.contains(header.node) && !step_done_.contains(header.node);
  if (asked && IsForGood(refusal.reason) && refusal.counted_elsewhere.empty()) given_up_.insert(header.node);
  const auto known = nodes_.find(header.node);
  if (known == nodes_.end()) return;
  ++known->second.status.refused_updates;
  known->second.status.last_refusal =
      fmt::format("{}: {}", SubmissionRefusalName(refusal.reason), refusal.message);
}

Admission RunState::Admit(const SubmissionHeader& header, std::int64_t now_ns) {
  if (AlreadyAccepted(header)) return Already();
  double weight = 0;
  std::optional<Admission> refusal = Refuse(header, now_ns, weight);
  if (!refusal && under_way_.contains(header.node)) {
    refusal = Refusal(SubmissionRefusal::kDuplicate,
                      fmt::format("another submission of {} is under way", header.node), true);
  }
  if (refusal) {
    Count(header, *refusal);
    return *refusal;
  }
  under_way_[header.node] = round_;
  return Go(weight);
}

Admission RunState::Accept(const SubmissionHeader& header, std::int64_t now_ns, RunEvents& events) {
  if (AlreadyAccepted(header)) return Already();
  double weight = 0;
  std::optional<Admission> refusal = Refuse(header, now_ns, weight);
  if (!refusal && !under_way_.contains(header.node)) {
    // FedBuff: the sum that it was added to has been averaged without it.
    refusal = Refusal(SubmissionRefusal::kStale, "the round in which it was admitted is over", true);
  }
  EndUpload(header, config_.asynchronous(), under_way_);
  if (refusal) {
    Count(header, *refusal);
    return *refusal;
  }
  ParticipantStatus& status = nodes_.find(header.node)->second.status;
  status.last_round = header.round;
  ++status.accepted_updates;
  Keep({header, weight});
  step_done_.insert(header.node);
  given_up_.erase(header.node);
  events.emplace_back(UpdateAccepted{round_, accepted_.back()});
  EndStepIfDue(now_ns, events);
  return Go(weight);
}

void RunState::Withdraw(const SubmissionHeader& header, std::optional<SubmissionRefusal> reason) {
  EndUpload(header, config_.asynchronous(), under_way_);
  if (reason) Count(header, Refusal(*reason, fmt::format("round {}", header.round)));
}

}  // namespace tributary
