#include "aggregator/learning/round/run_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/status/macros.h"

namespace tributary::learning {

absl::StatusOr<RunRules> RunRules::Restore(RunConfig config, const ModelFacts& model,
                                           const v1::StoredRun& stored,
                                           std::span<const v1::StoredUpdate> accepted, std::uint64_t lots) {
  RETURN_IF_ERROR(Validate(config));
  if (model.element_count == 0) return absl::InvalidArgumentError("the model has no elements");
  const std::uint32_t most = config.relayed ? stored.round() : std::min(stored.round(), config.rounds);
  if (stored.committed() > most) {
    return absl::DataLossError(
        fmt::format("{} rounds are stored as committed, at most {} can be", stored.committed(), most));
  }
  auto run = std::make_unique<RunState>(std::move(config), model, lots);
  run->committed = stored.committed();
  run->paused = stored.paused();
  run->stopped = stored.stopped();
  run->parent_end = {stored.parent_end(), stored.parent_finished()};
  RETURN_IF_ERROR(run->versions.Restore(stored));
  for (const v1::Participant& node : stored.nodes()) run->roster.Restore(node);
  for (const auto& [node, round] : stored.accepted_rounds()) run->roster.RestoreAccepted(node, round);
  run->rounds.RestoreLast(stored.round());
  if (stored.has_open()) RETURN_IF_ERROR(run->rounds.RestoreRound(stored.open(), accepted, run->roster));
  return RunRules(std::move(run), stored.has_open());
}

bool RunRules::MakePlace(const v1::ParticipateRequest& declaration) {
  const Roster::Node* known = run_->roster.Find(declaration.node());
  if (known != nullptr && known->joined()) return true;
  if (run_->roster.joined() < run_->config.max_nodes) return true;
  const auto needed = [this](const v1::Participant& node) { return run_->Needs(node); };
  const bool has_samples = declaration.sample_count() > 0;
  return run_->roster.ForgetOne(has_samples ? Roster::Claim::kKeeps : Roster::Claim::kNoSamples, needed);
}

absl::StatusOr<RunOutcome> RunRules::Join(const v1::ParticipateRequest& declaration, std::int64_t now_ns) {
  RETURN_IF_ERROR(CheckDeclaration(declaration, run_->config, run_->model().schema));
  if (!MakePlace(declaration)) {
    return absl::ResourceExhaustedError(
        fmt::format("{} nodes have joined, no more may", run_->config.max_nodes));
  }
  run_->roster.Join(declaration);
  RunOutcome outcome;
  run_->StartRoundIfReady(now_ns, outcome);
  return outcome;
}

RunOutcome RunRules::Leave(std::string_view node, std::string_view boot_id, std::int64_t now_ns) {
  RunOutcome outcome;
  if (run_->roster.Leave(node, boot_id)) run_->EndStepIfDue(now_ns, outcome);
  return outcome;
}

void RunRules::LeaveOut(std::string_view node, const std::string& reason) {
  if (run_->roster.Find(node) == nullptr) return;
  run_->roster.LeaveOut(node, reason);
  if (Round* round = run_->rounds.under_way()) round->GiveUp(node);
}

absl::StatusOr<RunOutcome> RunRules::FinishStep(std::string_view node, std::uint32_t round, RoundStep step,
                                                std::int64_t now_ns) {
  if (round == 0 || round != run_->round() || run_->stopped) {
    return absl::FailedPreconditionError(fmt::format("round {} is not at that step", round));
  }
  RETURN_IF_ERROR(run_->rounds.under_way()->FinishStep(node, step));
  run_->roster.changes().Add(node);
  RunOutcome outcome;
  run_->EndStepIfDue(now_ns, outcome);
  run_->StartRoundIfReady(now_ns, outcome);
  return outcome;
}

RunOutcome RunRules::FailRound(std::uint32_t round, std::string_view reason, std::int64_t now_ns) {
  RunOutcome outcome;
  if (run_->rounds.parent() != nullptr) run_->rounds.parent()->Forget(round);
  if (round == 0 || round != run_->round()) return outcome;
  run_->rounds.FailEarly(reason, run_->roster, now_ns, outcome);
  run_->StartRoundIfReady(now_ns, outcome);
  return outcome;
}

absl::StatusOr<RunOutcome> RunRules::Commit(std::uint32_t round, const parameters::Sha256& model,
                                            std::int64_t now_ns) {
  if (!run_->closed() || round != run_->round()) {
    return absl::FailedPreconditionError(fmt::format("round {} is not closed", round));
  }
  RunOutcome outcome;
  outcome.state_changed = true;
  run_->versions.GoOn(model);
  ++run_->committed;
  run_->rounds.Commit();
  run_->StartRoundIfReady(now_ns, outcome);
  return outcome;
}

RunOutcome RunRules::ReplaceModel(const parameters::Sha256& model, std::int64_t now_ns) {
  RunOutcome outcome;
  outcome.state_changed = true;
  if (run_->under_way() != nullptr) run_->rounds.Fail("the model was rolled back", run_->roster, outcome);
  run_->versions.Replace(model);
  run_->StartRoundIfReady(now_ns, outcome);
  return outcome;
}

absl::StatusOr<RunOutcome> RunRules::Begin(const ParentRound& round, std::int64_t now_ns) {
  if (run_->rounds.parent() == nullptr || run_->ended()) {
    return absl::FailedPreconditionError("the run is not under way as a parent's");
  }
  Round* open = run_->rounds.under_way();
  RunOutcome outcome;
  if (open != nullptr && open->number() == round.round && run_->model().model == round.model) {
    if (!run_->closed()) open->MoveDeadline(round.deadline_ns);
    run_->roster.changes().AddEveryone();
    return outcome;
  }
  if (round.round <= run_->rounds.last()) {
    return absl::FailedPreconditionError(fmt::format(
        "round {} of the parent does not come after round {}: another run of the same name, or one "
        "whose result is known",
        round.round, run_->rounds.last()));
  }
  if (open != nullptr) {
    run_->rounds.Fail(fmt::format("the parent has gone on to round {}", round.round), run_->roster, outcome);
  }
  run_->versions.Replace(round.model);
  run_->rounds.parent()->Begin(round, now_ns);
  outcome.state_changed = true;
  run_->roster.changes().AddEveryone();
  return outcome;
}

Advanced RunRules::Advance(std::int64_t now_ns) {
  Advanced advanced;
  if (restored_) {
    restored_ = false;
    run_->rounds.GoOnAfterRestart(run_->roster, now_ns, advanced.outcome);
    run_->roster.changes().AddEveryone();
  }
  if (!run_->stopped) run_->EndStepIfDue(now_ns, advanced.outcome);
  run_->StartRoundIfReady(now_ns, advanced.outcome);
  const bool idle = run_->under_way() == nullptr && (run_->paused || run_->ended());
  if (!idle) advanced.next_ns = run_->rounds.next_ns(now_ns);
  return advanced;
}

absl::StatusOr<RunOutcome> RunRules::SetPaused(bool paused, std::int64_t now_ns) {
  if (run_->ended()) return absl::FailedPreconditionError("the run has ended");
  RunOutcome outcome;
  outcome.state_changed = paused != run_->paused;
  run_->paused = paused;
  run_->StartRoundIfReady(now_ns, outcome);
  return outcome;
}

absl::StatusOr<RunOutcome> RunRules::End(ParentEnd end) {
  if (!run_->stopped) run_->parent_end = std::move(end);
  return Stop();
}

absl::StatusOr<RunOutcome> RunRules::Stop() {
  RunOutcome outcome;
  if (run_->stopped) return outcome;
  if (run_->ended()) return absl::FailedPreconditionError("the run has ended");
  run_->stopped = true;
  outcome.state_changed = true;
  if (run_->rounds.parent() != nullptr) run_->rounds.parent()->Forget();
  // A closed round is complete and may still be committed.
  if (run_->under_way() != nullptr && !run_->closed())
    run_->rounds.Fail("the run was stopped", run_->roster, outcome);
  run_->roster.changes().AddEveryone();
  return outcome;
}

}  // namespace tributary::learning
