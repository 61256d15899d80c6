#include "aggregator/learning/round/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/status/macros.h"

namespace tributary::learning {
namespace {

// The update itself is at fault, so that sending it again cannot help.
constexpr v1::SubmitRefusal kFaultsOfUpdate[] = {
    v1::SUBMIT_REFUSAL_SCHEMA,       v1::SUBMIT_REFUSAL_BASE_MODEL,  v1::SUBMIT_REFUSAL_ENCODING,
    v1::SUBMIT_REFUSAL_SAMPLE_COUNT, v1::SUBMIT_REFUSAL_NOT_FINITE,  v1::SUBMIT_REFUSAL_OUT_OF_RANGE,
    v1::SUBMIT_REFUSAL_TOO_LARGE,    v1::SUBMIT_REFUSAL_CONTRIBUTORS};

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

v1::StoredRun RunState::Snapshot() const {
  v1::StoredRun stored;
  stored.set_round(rounds_.last());
  stored.set_committed(committed_);
  stored.set_paused(paused_);
  stored.set_stopped(stopped_);
  versions_.Store(stored);
  if (config_->asynchronous()) {
    // What is older is refused as stale.
    for (const auto& [name, node] : roster_.nodes()) {
      const std::uint32_t round = node.status.last_round();
      if (round > 0 && round + config_->buffer.max_staleness >= rounds_.last()) {
        (*stored.mutable_accepted_rounds())[name] = round;
      }
    }
  }
  if (const Round* round = under_way()) {
    *stored.mutable_open() = round->started();
    stored.mutable_open()->set_step(static_cast<std::uint32_t>(round->step()));
    stored.mutable_open()->set_closed(closed());
  }
  return stored;
}

absl::StatusOr<RunState> RunState::Restore(RunConfig config, const ModelFacts& model,
                                           const v1::StoredRun& stored,
                                           std::span<const v1::StoredUpdate> accepted, std::uint64_t lots) {
  ASSIGN_OR_RETURN(RunState state, Create(std::move(config), model, lots));
  const std::uint32_t most =
      state.config_->relayed ? stored.round() : std::min(stored.round(), state.config_->rounds);
  if (stored.committed() > most) {
    return absl::DataLossError(
        fmt::format("{} rounds are stored as committed, at most {} can be", stored.committed(), most));
  }
  state.committed_ = stored.committed();
  state.paused_ = stored.paused();
  state.stopped_ = stored.stopped();
  state.restored_ = stored.has_open();
  RETURN_IF_ERROR(state.versions_.Restore(stored));
  for (const auto& [node, round] : stored.accepted_rounds()) state.roster_.RestoreAccepted(node, round);
  state.rounds_.RestoreLast(stored.round());
  if (stored.has_open()) {
    RETURN_IF_ERROR(state.rounds_.RestoreRound(stored.open(), accepted, state.roster_));
  }
  return state;
}

// ---- Who takes part.

absl::StatusOr<RunOutcome> RunState::Join(const v1::ParticipateRequest& declaration, std::int64_t now_ns) {
  RETURN_IF_ERROR(CheckDeclaration(declaration, *config_, model().schema));
  if (roster_.joined() >= config_->max_nodes && roster_.Find(declaration.node()) == nullptr) {
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

void RunState::LeaveOut(std::string_view node, const std::string& reason) {
  if (roster_.Find(node) == nullptr) return;
  roster_.LeaveOut(node, reason);
  if (Round* round = rounds_.under_way()) round->GiveUp(node);
}

bool RunState::CannotTrain(std::string_view node) const {
  const Roster::Node* known = roster_.Find(node);
  return known != nullptr && !known->status.cannot_train().empty();
}

NodeTask RunState::TaskOf(std::string_view node) const {
  if (ended()) return {.kind = TaskKind::kEnded, .reason = StatusMessage()};
  const Roster::Node* known = roster_.Find(node);
  if (known == nullptr) return {.reason = "the node has not joined"};
  const v1::Participant& status = known->status;
  if (known->left_out) return {.reason = status.cannot_train()};
  if (!status.cannot_train().empty()) {
    return {.reason = fmt::format("this node cannot train in this run: {}", status.cannot_train())};
  }
  if (const Round* round = under_way()) {
    const std::optional<TaskKind> kind = round->TaskFor(status);
    if (kind) return {*kind, round->number(), round->deadline_ns()};
  }
  if (status.sample_count() == 0) return {.reason = "the node has not said how many samples it has"};
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

// ---- Which updates count.

bool RunState::AlreadyAccepted(const v1::UpdateHeader& header) const {
  const Roster::Node* sender = roster_.Find(header.node());
  return header.round() != 0 && sender != nullptr && sender->status.last_round() == header.round();
}

Admission RunState::Judge(const v1::UpdateHeader& header, std::int64_t now_ns) const {
  if (ended()) return Admission::Refused(v1::SUBMIT_REFUSAL_NOT_RUNNING, "{}", StatusMessage());
  const Roster::Node* sender = roster_.Find(header.node());
  if (sender != nullptr) return rounds_.Judge(header, *sender, versions_, now_ns);
  return Admission::Refused(v1::SUBMIT_REFUSAL_NOT_JOINED, "{} has not joined this run", header.node());
}

void RunState::CountRefusal(const v1::UpdateHeader& header, const Admission& refusal) {
  const Roster::Node* sender = roster_.Find(header.node());
  if (sender == nullptr) return;
  Round* round = rounds_.under_way();
  const bool now =
      round != nullptr && round->step() == RoundStep::kTraining && round->number() == header.round();
  const bool for_good = std::ranges::find(kFaultsOfUpdate, refusal.reason) != std::end(kFaultsOfUpdate) &&
                        refusal.counted_elsewhere.empty();
  if (now && for_good && round->StandingOf(sender->status) != Standing::kNotAwaited) {
    round->GiveUp(header.node());
  }
  roster_.CountRefused(header.node(), fmt::format("{}: {}", RefusalName(refusal.reason), refusal.message));
}

Admission RunState::Admit(const v1::UpdateHeader& header, std::int64_t now_ns) {
  if (AlreadyAccepted(header)) return Admission::AlreadyAccepted();
  Admission admission = Judge(header, now_ns);
  if (admission.go() && rounds_.under_way()->updates().Reserved(header.node())) {
    admission = Admission::TryAgain(v1::SUBMIT_REFUSAL_DUPLICATE, "another submission of {} is under way",
                                    header.node());
  }
  if (admission.go()) {
    rounds_.under_way()->Reserve(header);
  } else {
    CountRefusal(header, admission);
  }
  return admission;
}

Acceptance RunState::Accept(const v1::UpdateHeader& header, std::int64_t now_ns) {
  if (AlreadyAccepted(header)) return {Admission::AlreadyAccepted(), {}};
  Acceptance answer{Judge(header, now_ns), {}};
  Admission& admission = answer.admission;
  Round* round = rounds_.under_way();
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
  roster_.CountAccepted(header.node(), header.round());
  EndStepIfDue(now_ns, answer.outcome);
  return answer;
}

void RunState::Withdraw(const v1::UpdateHeader& header, std::optional<v1::SubmitRefusal> reason) {
  if (Round* round = rounds_.under_way()) round->Release(header);
  if (reason) CountRefusal(header, Admission::Refused(*reason, "round {}", header.round()));
}

absl::StatusOr<Declined> RunState::Decline(const v1::DeclineTaskRequest& decline, std::int64_t now_ns) {
  const std::string& node = decline.node();
  const Roster::Node* known = roster_.Find(node);
  if (known == nullptr || known->declaration.boot_id() != decline.boot_id()) {
    return absl::FailedPreconditionError(fmt::format("{} has not joined this run as this process", node));
  }
  Round* open = rounds_.under_way();
  const bool covered = open != nullptr && (decline.round() == 0 || open->Covers(decline.round()));
  if (ended() || !covered || closed()) {
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
  roster_.CountDeclined(decline, open->number());
  open->Decline(decline);
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
