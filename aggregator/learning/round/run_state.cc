#include "aggregator/learning/round/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/status/macros.h"

namespace tributary::learning {
namespace {

// The update itself is at fault, so that sending it again cannot help.
constexpr SubmissionRefusal kFaultsOfUpdate[] = {
    SubmissionRefusal::kSchema,      SubmissionRefusal::kBaseModel,   SubmissionRefusal::kEncoding,
    SubmissionRefusal::kSampleCount, SubmissionRefusal::kNotFinite,   SubmissionRefusal::kOutOfRange,
    SubmissionRefusal::kTooLarge,    SubmissionRefusal::kContributors};

}  // namespace

RunState::RunState(RunConfig config, const ModelFacts& model, std::uint64_t lots)
    : config_(std::make_unique<const RunConfig>(std::move(config))),
      versions_(model, config_->asynchronous() ? config_->buffer.max_staleness : 0),
      rounds_(*config_, lots) {
  roster_.changes().AddEveryone();
}

absl::StatusOr<RunState> RunState::Create(RunConfig config, const ModelFacts& model, std::uint64_t lots) {
  RETURN_IF_ERROR(Validate(config));
  if (model.element_count == 0) return absl::InvalidArgumentError("the model has no elements");
  return RunState(std::move(config), model, lots);
}

// ---- What a restart needs.

RunSnapshot RunState::Snapshot() const {
  const Round* round = under_way();
  return {.round = rounds_.last(),
          .committed = committed_,
          .paused = paused_,
          .stopped = stopped_,
          .open = round == nullptr ? std::nullopt : std::optional(round->started()),
          .step = round == nullptr ? RoundStep::kTraining : round->step(),
          .accepted = {},
          .closed = closed(),
          .earlier_models = versions_.Earlier(),
          .participants = roster_.Statuses()};
}

absl::StatusOr<RunState> RunState::Restore(RunConfig config, const ModelFacts& model,
                                           const RunSnapshot& snapshot, std::uint64_t lots) {
  ASSIGN_OR_RETURN(RunState state, Create(std::move(config), model, lots));
  state.committed_ = snapshot.committed;
  state.paused_ = snapshot.paused;
  state.stopped_ = snapshot.stopped;
  state.restored_ = true;
  state.versions_.RestoreEarlier(snapshot.earlier_models);
  for (const ParticipantStatus& status : snapshot.participants) state.roster_.Restore(status);
  state.rounds_.RestoreLast(snapshot.round);
  if (!snapshot.open) return state;
  const RoundStep step = snapshot.closed ? RoundStep::kClosing : snapshot.step;
  RETURN_IF_ERROR(state.rounds_.RestoreRound(*snapshot.open, step, snapshot.accepted, state.roster_));
  return state;
}

// ---- Who takes part.

absl::StatusOr<RunOutcome> RunState::Join(const NodeDeclaration& declaration, std::int64_t now_ns) {
  RETURN_IF_ERROR(CheckDeclaration(declaration, *config_, model().schema));
  if (roster_.joined() >= config_->max_nodes && roster_.Find(declaration.node) == nullptr) {
    return absl::ResourceExhaustedError(fmt::format("{} nodes have joined, no more may", config_->max_nodes));
  }
  roster_.Join(declaration);
  RunOutcome outcome;
  StartRoundIfReady(now_ns, outcome);
  return outcome;
}

RunOutcome RunState::Leave(std::string_view node, std::string_view boot_id, std::int64_t now_ns) {
  RunOutcome outcome;
  if (roster_.Leave(node, boot_id)) EndStepIfDue(now_ns, outcome);
  return outcome;
}

void RunState::LeaveOut(std::string_view node, std::string_view reason) {
  if (roster_.Find(node) == nullptr) return;
  roster_.LeaveOut(node, reason);
  if (Round* round = rounds_.under_way()) round->GiveUp(node);
}

bool RunState::CannotTrain(std::string_view node) const {
  const Roster::Node* known = roster_.Find(node);
  return known != nullptr && !known->status.cannot_train.empty();
}

NodeTask RunState::TaskOf(std::string_view node) const {
  if (ended()) return {.kind = TaskKind::kEnded, .reason = StatusMessage()};
  const Roster::Node* known = roster_.Find(node);
  if (known == nullptr) return {.reason = "the node has not joined"};
  const ParticipantStatus& status = known->status;
  if (known->left_out) return {.reason = status.cannot_train};
  if (!status.cannot_train.empty()) {
    return {.reason = fmt::format("this node cannot train in this run: {}", status.cannot_train)};
  }
  if (const Round* round = under_way()) {
    const std::optional<TaskKind> kind = round->TaskFor(status);
    if (kind) return {*kind, round->number(), round->deadline_ns()};
  }
  if (status.sample_count == 0) return {.reason = "the node has not said how many samples it has"};
  return {.reason = StatusMessage()};
}

RunPhase RunState::phase() const {
  if (finished()) return RunPhase::kFinished;
  if (stopped_) return RunPhase::kStopped;
  if (paused_) return RunPhase::kPaused;
  return under_way() != nullptr ? RunPhase::kRunning : RunPhase::kWaiting;
}

std::string RunState::StatusMessage() const {
  if (finished()) return "all rounds are done";
  if (stopped_) return "the run was stopped";
  if (closed()) return fmt::format("round {} is being averaged", round());
  if (under_way() != nullptr) return fmt::format("round {} is under way", round());
  if (paused_) return "paused";
  return rounds_.StatusMessage(roster_);
}

const DeclinedTasks& RunState::declined() const {
  static const DeclinedTasks kNobody;
  return under_way() != nullptr ? under_way()->declines() : kNobody;
}

// ---- Which updates count.

bool RunState::AlreadyAccepted(const SubmissionHeader& header) const {
  const Roster::Node* sender = roster_.Find(header.node);
  return header.round != 0 && sender != nullptr && sender->status.last_round == header.round;
}

Admission RunState::Judge(const SubmissionHeader& header, std::int64_t now_ns) const {
  if (ended()) return Admission::Refused(SubmissionRefusal::kNotRunning, "{}", StatusMessage());
  const Roster::Node* sender = roster_.Find(header.node);
  if (sender != nullptr) return rounds_.Judge(header, *sender, versions_, now_ns);
  return Admission::Refused(SubmissionRefusal::kNotJoined, "{} has not joined this run", header.node);
}

void RunState::CountRefusal(const SubmissionHeader& header, const Admission& refusal) {
  const Roster::Node* sender = roster_.Find(header.node);
  if (sender == nullptr) return;
  Round* round = rounds_.under_way();
  const bool now =
      round != nullptr && round->step() == RoundStep::kTraining && round->number() == header.round;
  const bool for_good = std::ranges::find(kFaultsOfUpdate, refusal.reason) != std::end(kFaultsOfUpdate) &&
                        refusal.counted_elsewhere.empty();
  if (now && for_good && round->StandingOf(sender->status) != Standing::kNotAwaited) {
    round->GiveUp(header.node);
  }
  roster_.CountRefused(header.node,
                       fmt::format("{}: {}", SubmissionRefusalName(refusal.reason), refusal.message));
}

Admission RunState::Admit(const SubmissionHeader& header, std::int64_t now_ns) {
  if (AlreadyAccepted(header)) return Admission::AlreadyAccepted();
  Admission admission = Judge(header, now_ns);
  if (admission.go() && rounds_.under_way()->updates().Reserved(header.node)) {
    admission = Admission::TryAgain(SubmissionRefusal::kDuplicate, "another submission of {} is under way",
                                    header.node);
  }
  if (admission.go()) {
    rounds_.under_way()->Reserve(header);
  } else {
    CountRefusal(header, admission);
  }
  return admission;
}

Acceptance RunState::Accept(const SubmissionHeader& header, std::int64_t now_ns) {
  if (AlreadyAccepted(header)) return {Admission::AlreadyAccepted(), {}};
  Acceptance answer{Judge(header, now_ns), {}};
  Admission& admission = answer.admission;
  Round* round = rounds_.under_way();
  if (admission.go() && !round->updates().Reserved(header.node)) {
    // FedBuff: the sum that it was added to has been averaged without it.
    admission = Admission::TryAgain(SubmissionRefusal::kStale, "the round in which it was admitted is over");
  }
  if (!admission.go()) {
    if (round != nullptr) round->Release(header);
    CountRefusal(header, admission);
    return answer;
  }
  round->Accept(header, admission.weight);
  roster_.CountAccepted(header.node, header.round);
  EndStepIfDue(now_ns, answer.outcome);
  return answer;
}

void RunState::Withdraw(const SubmissionHeader& header, std::optional<SubmissionRefusal> reason) {
  if (Round* round = rounds_.under_way()) round->Release(header);
  if (reason) CountRefusal(header, Admission::Refused(*reason, "round {}", header.round));
}

absl::StatusOr<Declined> RunState::Decline(std::string_view node, std::string_view boot_id,
                                           std::uint32_t round, const parameters::TaskDecline& decline,
                                           std::int64_t now_ns) {
  const Roster::Node* known = roster_.Find(node);
  if (known == nullptr || known->declaration.boot_id != boot_id) {
    return absl::FailedPreconditionError(fmt::format("{} has not joined this run as this process", node));
  }
  Round* open = rounds_.under_way();
  if (ended() || open == nullptr || closed() || (round != 0 && !open->Covers(round))) {
    return absl::FailedPreconditionError(fmt::format("round {} is not under way", round));
  }
  Declined answer;
  const bool said_so = !decline.for_good || !known->status.cannot_train.empty();
  if (open->HasDeclined(node) && said_so) return answer;
  if (open->StandingOf(known->status) == Standing::kNotAwaited) {
    return absl::FailedPreconditionError(
        fmt::format("{} was not asked in round {}, or its answer has been accepted", node, open->number()));
  }
  answer.news = true;
  roster_.CountDeclined(node, open->number(), decline);
  open->Decline(node, decline);
  EndStepIfDue(now_ns, answer.outcome);
  StartRoundIfReady(now_ns, answer.outcome);
  return answer;
}

// ---- How rounds go on.

void RunState::StartRoundIfReady(std::int64_t now_ns, RunOutcome& outcome) {
  if (!paused_ && !ended()) rounds_.StartIfReady(roster_, now_ns, outcome);
  if (!outcome.empty()) roster_.changes().AddEveryone();
}

void RunState::EndStepIfDue(std::int64_t now_ns, RunOutcome& outcome) {
  if (rounds_.EndStepIfDue(roster_, now_ns, outcome)) roster_.changes().AddEveryone();
}

Advanced RunState::Advance(std::int64_t now_ns) {
  Advanced advanced;
  if (restored_) {
    restored_ = false;
    rounds_.GoOnAfterRestart(roster_, now_ns, advanced.outcome);
    roster_.changes().AddEveryone();
  }
  if (!stopped_) EndStepIfDue(now_ns, advanced.outcome);
  StartRoundIfReady(now_ns, advanced.outcome);
  const bool idle = under_way() == nullptr && (paused_ || ended());
  if (!idle) advanced.next_ns = rounds_.next_ns(now_ns);
  return advanced;
}

absl::StatusOr<RunOutcome> RunState::FinishStep(std::string_view node, std::uint32_t round, RoundStep step,
                                                std::int64_t now_ns) {
  if (round == 0 || round != this->round() || stopped_) {
    return absl::FailedPreconditionError(fmt::format("round {} is not at that step", round));
  }
  RETURN_IF_ERROR(rounds_.under_way()->FinishStep(node, step));
  roster_.changes().Add(node);
  RunOutcome outcome;
  EndStepIfDue(now_ns, outcome);
  StartRoundIfReady(now_ns, outcome);
  return outcome;
}

RunOutcome RunState::FailRound(std::uint32_t round, std::string_view reason, std::int64_t now_ns) {
  RunOutcome outcome;
  if (rounds_.parent() != nullptr) rounds_.parent()->Forget(round);
  if (round == 0 || round != this->round()) return outcome;
  rounds_.Fail(reason, roster_, outcome);
  StartRoundIfReady(now_ns, outcome);
  return outcome;
}

absl::StatusOr<RunOutcome> RunState::Commit(std::uint32_t round, const parameters::Sha256& model,
                                            std::int64_t now_ns) {
  if (!closed() || round != this->round()) {
    return absl::FailedPreconditionError(fmt::format("round {} is not closed", round));
  }
  RunOutcome outcome;
  outcome.state_changed = true;
  versions_.GoOn(model);
  ++committed_;
  rounds_.Commit();
  StartRoundIfReady(now_ns, outcome);
  return outcome;
}

RunOutcome RunState::ReplaceModel(const parameters::Sha256& model, std::int64_t now_ns) {
  RunOutcome outcome;
  outcome.state_changed = true;
  if (under_way() != nullptr) rounds_.Fail("the model was rolled back", roster_, outcome);
  versions_.Replace(model);
  StartRoundIfReady(now_ns, outcome);
  return outcome;
}

absl::StatusOr<RunOutcome> RunState::Begin(const ParentRound& round, std::int64_t now_ns) {
  if (rounds_.parent() == nullptr || ended()) {
    return absl::FailedPreconditionError("the run is not under way as a parent's");
  }
  Round* open = rounds_.under_way();
  RunOutcome outcome;
  if (open != nullptr && open->number() == round.round && model().model == round.model) {
    if (!closed()) open->MoveDeadline(round.deadline_ns);
    roster_.changes().AddEveryone();
    return outcome;
  }
  if (round.round <= rounds_.last()) {
    return absl::FailedPreconditionError(fmt::format(
        "round {} of the parent does not come after round {}: another run of the same name, or one "
        "whose result is known",
        round.round, rounds_.last()));
  }
  if (open != nullptr) {
    rounds_.Fail(fmt::format("the parent has gone on to round {}", round.round), roster_, outcome);
  }
  versions_.Replace(round.model);
  rounds_.parent()->Begin(round, now_ns);
  outcome.state_changed = true;
  roster_.changes().AddEveryone();
  return outcome;
}

absl::StatusOr<RunOutcome> RunState::SetPaused(bool paused, std::int64_t now_ns) {
  if (ended()) return absl::FailedPreconditionError("the run has ended");
  RunOutcome outcome;
  outcome.state_changed = paused != paused_;
  paused_ = paused;
  StartRoundIfReady(now_ns, outcome);
  return outcome;
}

absl::StatusOr<RunOutcome> RunState::Stop() {
  RunOutcome outcome;
  if (stopped_) return outcome;
  if (ended()) return absl::FailedPreconditionError("the run has ended");
  stopped_ = true;
  outcome.state_changed = true;
  if (rounds_.parent() != nullptr) rounds_.parent()->Forget();
  // A closed round is complete and may still be committed.
  if (under_way() != nullptr && !closed()) rounds_.Fail("the run was stopped", roster_, outcome);
  roster_.changes().AddEveryone();
  return outcome;
}

}  // namespace tributary::learning
