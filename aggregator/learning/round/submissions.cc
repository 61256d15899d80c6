#include "aggregator/learning/round/submissions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tributary::learning {
namespace {

// The update itself is at fault, so that sending it again cannot help.
constexpr v1::SubmitRefusal kFaultsOfUpdate[] = {
    v1::SUBMIT_REFUSAL_SCHEMA,       v1::SUBMIT_REFUSAL_BASE_MODEL,  v1::SUBMIT_REFUSAL_ENCODING,
    v1::SUBMIT_REFUSAL_SAMPLE_COUNT, v1::SUBMIT_REFUSAL_NOT_FINITE,  v1::SUBMIT_REFUSAL_OUT_OF_RANGE,
    v1::SUBMIT_REFUSAL_TOO_LARGE,    v1::SUBMIT_REFUSAL_CONTRIBUTORS};

}  // namespace

bool Submissions::AlreadyAccepted(const v1::UpdateHeader& header) const {
  const Roster::Node* sender = run_.roster.Find(header.node());
  return header.round() != 0 && sender != nullptr && sender->status.last_round() == header.round();
}

Admission Submissions::Judge(const v1::UpdateHeader& header, std::int64_t now_ns) const {
  if (run_.ended()) return Admission::Refused(v1::SUBMIT_REFUSAL_NOT_RUNNING, "{}", run_.StatusMessage());
  const Roster::Node* sender = run_.roster.Find(header.node());
  if (sender != nullptr) return run_.rounds.Judge(header, *sender, run_.versions, now_ns);
  return Admission::Refused(v1::SUBMIT_REFUSAL_NOT_JOINED, "{} has not joined this run", header.node());
}

void Submissions::CountRefusal(const v1::UpdateHeader& header, const Admission& refusal) {
  const Roster::Node* sender = run_.roster.Find(header.node());
  if (sender == nullptr) return;
  Round* round = run_.rounds.under_way();
  const bool now =
      round != nullptr && round->step() == RoundStep::kTraining && round->number() == header.round();
  const bool for_good = std::ranges::find(kFaultsOfUpdate, refusal.reason) != std::end(kFaultsOfUpdate) &&
                        refusal.counted_elsewhere.empty();
  if (now && for_good && round->StandingOf(sender->status) != Standing::kNotAwaited) {
    round->GiveUp(header.node());
  }
  run_.roster.CountRefused(header.node(),
                           fmt::format("{}: {}", RefusalName(refusal.reason), refusal.message));
}

Admission Submissions::Admit(const v1::UpdateHeader& header, std::int64_t now_ns) {
  if (AlreadyAccepted(header)) return Admission::AlreadyAccepted();
  Admission admission = Judge(header, now_ns);
  if (admission.go() && run_.rounds.under_way()->updates().Reserved(header.node())) {
    admission = Admission::TryAgain(v1::SUBMIT_REFUSAL_DUPLICATE, "another submission of {} is under way",
                                    header.node());
  }
  if (admission.go()) {
    run_.rounds.under_way()->Reserve(header);
  } else {
    CountRefusal(header, admission);
  }
  return admission;
}

Acceptance Submissions::Accept(const v1::UpdateHeader& header, std::int64_t now_ns) {
  if (AlreadyAccepted(header)) return {Admission::AlreadyAccepted(), {}};
  Acceptance answer{Judge(header, now_ns), {}};
  Admission& admission = answer.admission;
  Round* round = run_.rounds.under_way();
  if (admission.go() && !round->updates().Reserved(header.node())) {
    // FedBuff: the sum that it was added to has been averaged without it.
    admission = Admission::TryAgain(v1::SUBMIT_REFUSAL_STALE, "the round in which it was admitted is over");
  }
  if (!admission.go()) {
    if (round != nullptr) round->Release(header);
    CountRefusal(header, admission);
    return answer;
  }
  round->Accept(header, admission.weight);
  run_.roster.CountAccepted(header.node(), header.round());
  run_.EndStepIfDue(now_ns, answer.outcome);
  return answer;
}

void Submissions::Withdraw(const v1::UpdateHeader& header, std::optional<v1::SubmitRefusal> reason) {
  if (Round* round = run_.rounds.under_way()) round->Release(header);
  if (reason) CountRefusal(header, Admission::Refused(*reason, "round {}", header.round()));
}

absl::StatusOr<Declined> Submissions::Decline(const v1::DeclineTaskRequest& decline, std::int64_t now_ns) {
  const std::string& node = decline.node();
  const Roster::Node* known = run_.roster.Find(node);
  if (known == nullptr || known->declaration.boot_id() != decline.boot_id()) {
    return absl::FailedPreconditionError(fmt::format("{} has not joined this run as this process", node));
  }
  Round* open = run_.rounds.under_way();
  const bool covered = open != nullptr && (decline.round() == 0 || open->Covers(decline.round()));
  if (run_.ended() || !covered || run_.closed()) {
    return absl::FailedPreconditionError(fmt::format("round {} is not under way", decline.round()));
  }
  Declined answer;
  const bool said_so = !decline.for_good() || !known->status.cannot_train().empty();
  if (open->HasDeclined(node) && said_so) return answer;
  if (open->StandingOf(known->status) == Standing::kNotAwaited) {
    return absl::FailedPreconditionError(
        fmt::format("{} was not asked in round {}, or its answer has been accepted", node, open->number()));
  }
  answer.news = true;
  run_.roster.CountDeclined(decline, open->number());
  open->Decline(decline);
  run_.EndStepIfDue(now_ns, answer.outcome);
  run_.StartRoundIfReady(now_ns, answer.outcome);
  return answer;
}

}  // namespace tributary::learning
