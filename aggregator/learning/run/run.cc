#include "aggregator/learning/run/run.h"

#include <fmt/format.h>

#include <utility>

#include "core/runtime/log.h"
#include "core/status/macros.h"
#include "core/wire/fields.h"

namespace tributary::learning {

Run::Run(std::unique_ptr<RunParts> parts) : owned_(std::move(parts)), run_(*owned_), rounds_(run_) {
  if (run_.relayed()) relayed_.emplace(run_, rounds_);
}

absl::Status Run::OwnOnly() const {
  RETURN_IF_ERROR(run_.health);
  if (!run_.relayed()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("run \"{}\" is the parent's: it is changed there", run_.name()));
}

absl::Status Run::Join(const v1::ParticipateRequest& declaration) {
  RETURN_IF_ERROR(run_.health);
  run_.account.changed = true;
  return rounds_.Apply(run_.rules.Join(declaration, run_.now_ns()));
}

void Run::Leave(std::string_view node, std::string_view boot_id) {
  run_.account.changed = true;
  rounds_.Apply(run_.rules.Leave(node, boot_id, run_.now_ns()));
}

Admission Run::Admit(const v1::UpdateHeader& header) {
  if (!run_.health.ok()) {
    return Admission::TryAgain(v1::SUBMIT_REFUSAL_STORE, "{}", std::string(run_.health.message()));
  }
  Admission admission = run_.rules.submissions().Admit(header, run_.now_ns());
  if (admission.verdict == AdmissionVerdict::kRefused) run_.CountRefusal();
  return admission;
}

std::unique_ptr<Upload> Run::NewUpload(const v1::UpdateHeader& header) {
  const RunConfig& config = run_.state.config;
  Upload::Limits limits{.max_element = static_cast<float>(config.max_element),
                        .norm = config.client.clip_norm() > 0,
                        .round_under_way = rounds_.UnderWay()};
  if (!header.contributors().empty()) {
    limits.max_word = FixedPointOf(run_.state.under_way()->started())
                          .LargestWord(static_cast<double>(header.sample_count()),
                                       static_cast<std::size_t>(header.contributors_size()));
  }
  return std::make_unique<Upload>(header, limits,
                                  [&store = run_.surroundings.store] { return store.NewSubmission(); });
}

std::vector<Admission> Run::Submit(std::vector<std::unique_ptr<Upload>> uploads) {
  std::vector<Admission> answers;
  auto staged =
      run_.health.ok() ? run_.journal.Stage(uploads) : absl::StatusOr<std::vector<KeptUpdate>>(run_.health);
  if (!staged.ok()) {
    const std::string why(staged.status().message());
    for (const std::unique_ptr<Upload>& each : uploads) {
      Withdraw(each->header(), v1::SUBMIT_REFUSAL_STORE);
      answers.push_back(Admission::TryAgain(v1::SUBMIT_REFUSAL_STORE, "{}", why));
    }
    return answers;
  }
  run_.account.changed = true;
  std::size_t kept = 0;  // of the staged ones; those behind it are accepted and not stored yet
  // Answers stay in order.
  const auto keep_up_to = [&](std::size_t end) {
    Keep(std::span(*staged).subspan(kept, end - kept), std::span(uploads).subspan(kept), answers);
    kept = end;
  };
  for (std::size_t i = 0; i < uploads.size(); ++i) {
    Acceptance acceptance = run_.rules.submissions().Accept(uploads[i]->header(), run_.now_ns());
    if (acceptance.admission.go()) {
      (*staged)[i].record.set_weight(acceptance.admission.weight);
    } else {
      keep_up_to(i);
      ++kept;
      if (acceptance.admission.verdict == AdmissionVerdict::kRefused) run_.CountRefusal();
      answers.push_back(std::move(acceptance.admission));
    }
    if (acceptance.outcome.empty()) continue;
    keep_up_to(i + 1);
    rounds_.Apply(acceptance.outcome);
  }
  keep_up_to(uploads.size());
  return answers;
}

void Run::Keep(std::span<KeptUpdate> updates, std::span<const std::unique_ptr<Upload>> uploads,
               std::vector<Admission>& answers) {
  if (updates.empty()) return;
  if (run_.health.ok()) run_.Healthy(run_.journal.Keep(updates));
  for (std::size_t i = 0; i < updates.size(); ++i) {
    if (!run_.health.ok()) {
      answers.push_back(
          Admission::TryAgain(v1::SUBMIT_REFUSAL_STORE, "{}", std::string(run_.health.message())));
      continue;
    }
    // Stored: whatever happens from here on, a restart has it.
    ++run_.account.accepted;
    answers.push_back(Admission::Go(updates[i].record.weight()));
    run_.Healthy(run_.sum.Add(std::move(updates[i]), uploads[i]->bytes()));
  }
}

void Run::Withdraw(const v1::UpdateHeader& header, v1::SubmitRefusal reason) {
  if (reason == v1::SUBMIT_REFUSAL_STORE && run_.health.ok())
    run_.journal.SayRefused("its file cannot be written");
  run_.CountRefusal();
  run_.rules.submissions().Withdraw(header, reason);
}

absl::StatusOr<bool> Run::Decline(const v1::DeclineTaskRequest& decline) {
  RETURN_IF_ERROR(run_.health);
  const std::uint32_t under_way = run_.state.round();
  const bool named = under_way != 0 && run_.state.under_way()->line().declines_size() < Round::kNamedDeclines;
  ASSIGN_OR_RETURN(const Declined declined, run_.rules.submissions().Decline(decline, run_.now_ns()));
  // The first of a round: what a crowd says is in the round's line.
  if (declined.news && named) {
    runtime::LogWarning("run {}: {} does not train in round {}{}: {}: {}", run_.name(), decline.node(),
                        under_way, decline.for_good() ? ", nor is it asked again" : "",
                        DeclineName(decline.reason()), decline.message());
  }
  if (declined.news) ++run_.account.declined;
  run_.account.changed = true;
  rounds_.Apply(declined.outcome);
  RETURN_IF_ERROR(run_.health);
  return declined.news;
}

absl::Status Run::Pause() {
  RETURN_IF_ERROR(OwnOnly());
  return rounds_.Apply(run_.rules.SetPaused(true, run_.now_ns()));
}

absl::Status Run::Resume() {
  RETURN_IF_ERROR(OwnOnly());
  return rounds_.Apply(run_.rules.SetPaused(false, run_.now_ns()));
}

absl::Status Run::Stop() {
  RETURN_IF_ERROR(OwnOnly());
  return rounds_.Apply(run_.rules.Stop());
}

absl::Status Run::RollBack(std::uint32_t round) {
  RETURN_IF_ERROR(OwnOnly());
  ASSIGN_OR_RETURN(const store::ModelRecord record, run_.surroundings.store.Model(run_.name(), round));
  // From here on the model in memory is another one.
  if (!run_.Healthy(run_.model.Load(run_.surroundings.store, record))) return run_.health;
  v1::Round line;
  line.set_round(round);
  line.set_rolled_back(true);
  line.set_started_unix_ns(run_.surroundings.clock.UnixNs());
  line.set_ended_unix_ns(line.started_unix_ns());
  line.set_model_sha256(record.sha256);
  const absl::StatusOr<parameters::Sha256> identity = wire::Bytes32FromWire("model", record.sha256);
  if (!run_.Healthy(identity.status())) return run_.health;
  RunOutcome outcome = run_.rules.ReplaceModel(*identity, run_.now_ns());
  run_.sum.Clear();
  run_.account.changed = true;
  if (!run_.Healthy(run_.journal.RollBack(run_.Stored(), std::move(line), record))) return run_.health;
  runtime::LogInfo("run {}: back to the model after round {}", run_.name(), round);
  outcome.failed.reset();  // the line says so
  if (outcome.started) rounds_.Apply(outcome);
  return run_.health;
}

void Run::AddEvaluation(std::uint32_t round, const std::optional<v1::Evaluation>& evaluation) {
  run_.account.changed = true;
  if (!evaluation) run_.account.unjudgeable_round = round;
  if (evaluation && run_.health.ok()) run_.Healthy(run_.journal.AddEvaluation(round, *evaluation));
}

std::int64_t Run::Advance() {
  for (;;) {
    if (!run_.health.ok()) return kNoDeadline;
    const Advanced advanced = run_.rules.Advance(run_.now_ns());
    if (advanced.outcome.empty()) {
      run_.ReleaseIfEnded();
      return advanced.next_ns;
    }
    rounds_.Apply(advanced.outcome);
  }
}

}  // namespace tributary::learning
