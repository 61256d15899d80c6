#include "aggregator/learning/run/run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <utility>

#include "aggregator/learning/run/messages.h"
#include "aggregator/learning/run/noise.h"
#include "aggregator/learning/run/run_record.h"
#include "core/parameters/fixed_point.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"

namespace tributary::learning {

bool Run::Healthy(absl::Status status) {
  if (status.ok()) return true;
  spdlog::error("run {} stops until a restart, nothing is overwritten: {}", name(),
                std::string(status.message()));
  health_ = absl::UnavailableError(
      fmt::format("run \"{}\" has stopped until a restart: {}", name(), std::string(status.message())));
  account_.changed = true;
  return false;
}

absl::Status Run::OwnOnly() const {
  RETURN_IF_ERROR(health_);
  if (!relayed()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("run \"{}\" is the parent's: it is changed there", name()));
}

v1::StoredRun Run::Stored() const {
  v1::StoredRun stored = SnapshotToStored(state_.Snapshot());
  const bool open = stored.has_open();
  stored.set_failure(account_.failure);
  stored.set_relayed(relayed());
  stored.set_accepted_updates(account_.accepted - (open ? sum_.updates().size() : 0));
  stored.set_refused_updates(account_.refused - (open ? account_.round_refused : 0));
  stored.set_declined_tasks(account_.declined);
  stored.set_epsilon(account_.epsilon);
  if (!open) return stored;
  stored.mutable_open()->set_started_unix_ns(account_.round_started_unix_ns);
  stored.mutable_open()->set_refused_updates(account_.round_refused);
  return stored;
}

absl::Status Run::Apply(absl::StatusOr<RunOutcome> outcome) {
  RETURN_IF_ERROR(outcome.status());
  Apply(*outcome);
  return health_;
}

void Run::Apply(const RunOutcome& outcome, bool saved) {
  if (!health_.ok() || outcome.empty()) return;
  account_.changed = true;
  if (round_under_way_) *round_under_way_ = state_.round();
  if (outcome.failed) {
    if (!KeepFailure(*outcome.failed)) return;
    saved = !outcome.started;
  }
  if (outcome.started) BeginRound(*outcome.started);
  // A round of one's own that has closed needs no record: it is committed now, or closes again.
  const bool only_closed = outcome.closed && !relayed() && !outcome.state_changed;
  saved = saved && !outcome.started;
  if (!saved && !only_closed && !Healthy(journal_.Save(Stored()))) return;
  if (outcome.step && masking_) {
    if (absl::Status status = masking_->Begin(*outcome.step); !status.ok()) {
      return FailRound(outcome.step->round, status);
    }
  }
  if (!outcome.closed) return;
  if (!relayed()) {
    Healthy(CommitRound(*outcome.closed));
  } else if (sink_ != nullptr) {
    sink_->OnRoundClosed();
  }
}

void Run::BeginRound(const RoundStarted& started) {
  account_.round_started_unix_ns = surroundings_.clock.UnixNs();
  account_.round_refused = 0;
  account_.asked = static_cast<std::uint32_t>(started.asked.size());
  sum_.Start(started.fixed_point);
  masking_.reset();
  if (state_.config().privacy.secure_aggregation) {
    masking_.emplace(privacy::MaskingContext(name(), started.round));
  }
}

v1::Round Run::ReportOf(std::uint32_t round, std::size_t dropped, const DeclinedTasks& declined) const {
  v1::Round line = ReportRound(sum_.updates(), declined);
  line.set_round(round);
  line.set_started_unix_ns(account_.round_started_unix_ns);
  line.set_ended_unix_ns(surroundings_.clock.UnixNs());
  line.set_asked(account_.asked);
  line.set_refused(static_cast<std::uint32_t>(account_.round_refused));
  line.set_dropped(static_cast<std::uint32_t>(dropped));
  return line;
}

bool Run::KeepFailure(const RoundFailed& failed) {
  v1::Round line = ReportOf(failed.round, failed.dropped.size(), failed.declined);
  line.set_failure(failed.reason);
  sum_.Clear();
  if (!Healthy(journal_.DropRound(Stored(), std::move(line)))) return false;
  spdlog::warn("run {}: round {} changed nothing: {}", name(), failed.round, failed.reason);
  LeaveOutLiars(failed.round);
  return true;
}

void Run::FailRound(std::uint32_t round, const absl::Status& status) {
  Apply(state_.FailRound(round, std::string(status.message()), surroundings_.clock.SteadyNs()));
}

absl::Status Run::Join(const NodeDeclaration& declaration) {
  RETURN_IF_ERROR(health_);
  account_.changed = true;
  return Apply(state_.Join(declaration, surroundings_.clock.SteadyNs()));
}

void Run::Leave(std::string_view node, std::string_view boot_id) {
  account_.changed = true;
  Apply(state_.Leave(node, boot_id, surroundings_.clock.SteadyNs()));
}

void Run::CountRefusal() {
  ++account_.round_refused;
  ++account_.refused;
  account_.changed = true;
}

Admission Run::Admit(const SubmissionHeader& header) {
  if (!health_.ok()) {
    return Admission::Refused(SubmissionRefusal::kStore, std::string(health_.message()), true);
  }
  Admission admission = state_.Admit(header, surroundings_.clock.SteadyNs());
  if (admission.verdict == AdmissionVerdict::kRefused) CountRefusal();
  return admission;
}

std::unique_ptr<Upload> Run::NewUpload(const SubmissionHeader& header) {
  const RunConfig& config = state_.config();
  if (round_under_way_) *round_under_way_ = state_.round();
  return std::make_unique<Upload>(
      header,
      Upload::Limits{static_cast<float>(config.max_element), config.client.clip_norm() > 0, round_under_way_},
      [&store = surroundings_.store] { return store.NewSubmission(); });
}

std::vector<Admission> Run::Submit(std::vector<std::unique_ptr<Upload>> uploads) {
  std::vector<Admission> answers;
  absl::StatusOr<std::vector<KeptUpdate>> staged =
      health_.ok() ? journal_.Stage(uploads) : absl::StatusOr<std::vector<KeptUpdate>>(health_);
  if (!staged.ok()) {
    const std::string why(staged.status().message());
    for (const std::unique_ptr<Upload>& each : uploads) {
      Withdraw(each->header(), SubmissionRefusal::kStore);
      answers.push_back(Admission::Refused(SubmissionRefusal::kStore, why, true));
    }
    return answers;
  }
  account_.changed = true;
  std::vector<Accepted> accepted;  // and not stored yet
  for (std::size_t i = 0; i < uploads.size(); ++i) {
    Acceptance acceptance = state_.Accept(uploads[i]->header(), surroundings_.clock.SteadyNs());
    if (acceptance.admission.verdict == AdmissionVerdict::kGo) {
      (*staged)[i].weight = acceptance.admission.weight;
      accepted.push_back({std::move((*staged)[i]), uploads[i]->bytes()});
    } else {
      Keep(std::exchange(accepted, {}), answers);  // answers stay in order
      if (acceptance.admission.verdict == AdmissionVerdict::kRefused) CountRefusal();
      answers.push_back(std::move(acceptance.admission));
    }
    if (acceptance.outcome.empty()) continue;
    Keep(std::exchange(accepted, {}), answers);
    Apply(acceptance.outcome);
  }
  Keep(std::move(accepted), answers);
  return answers;
}

void Run::Keep(std::vector<Accepted> accepted, std::vector<Admission>& answers) {
  if (accepted.empty()) return;
  std::vector<KeptUpdate> updates;
  for (const Accepted& each : accepted) updates.push_back(each.update);
  if (health_.ok()) Healthy(journal_.Keep(updates));
  for (std::size_t i = 0; i < accepted.size(); ++i) {
    if (!health_.ok()) {
      answers.push_back(Admission::Refused(SubmissionRefusal::kStore, std::string(health_.message()), true));
      continue;
    }
    // Stored: whatever happens from here on, a restart has it.
    ++account_.accepted;
    answers.push_back(Admission::Go(updates[i].weight));
    Healthy(sum_.Add(std::move(updates[i]), accepted[i].bytes));
  }
}

void Run::Withdraw(const SubmissionHeader& header, SubmissionRefusal reason) {
  if (reason == SubmissionRefusal::kStore && health_.ok()) journal_.SayRefused("its file cannot be written");
  CountRefusal();
  state_.Withdraw(header, reason);
}

absl::StatusOr<bool> Run::Decline(std::string_view node, std::string_view boot_id, std::uint32_t round,
                                  const parameters::TaskDecline& decline) {
  RETURN_IF_ERROR(health_);
  const std::uint32_t under_way = state_.round();
  const std::uint32_t before = state_.declined().count;
  ASSIGN_OR_RETURN(const Declined declined,
                   state_.Decline(node, boot_id, round, decline, surroundings_.clock.SteadyNs()));
  // The first of a round: what a crowd says is in the round's line.
  if (declined.news && before < DeclinedTasks::kNamed) {
    spdlog::warn("run {}: {} does not train in round {}{}: {}: {}", name(), node, under_way,
                 decline.for_good ? ", nor is it asked again" : "",
                 parameters::DeclineReasonName(decline.reason), decline.message);
  }
  if (declined.news) ++account_.declined;
  account_.changed = true;
  Apply(declined.outcome);
  RETURN_IF_ERROR(health_);
  return declined.news;
}

absl::Status Run::CommitRound(const RoundClosed& closed) {
  if (masking_) {
    if (absl::Status status = masking_->Unmask(sum_.words()); !status.ok()) {
      FailRound(closed.round, status);
      return health_;
    }
  }
  ASSIGN_OR_RETURN(const std::span<float> combined, sum_.Combine(model_.strategy(), closed.total_weight));
  RETURN_IF_ERROR(AddNoise(state_.config(), closed.round, closed.total_weight, combined));
  v1::Round line = ReportOf(closed.round, closed.dropped.size(), state_.declined());
  line.set_update_norm(std::sqrt(parameters::SumOfSquares(combined)));
  account_.epsilon = EpsilonAfter(state_.config(), closed.round);
  line.set_epsilon(account_.epsilon);
  if (absl::Status status = model_.Step(combined); !status.ok()) {
    account_.failure = fmt::format("round {}: {}", closed.round, std::string(status.message()));
    RETURN_IF_ERROR(state_.Stop().status());
    return journal_.Save(Stored());
  }
  const parameters::Sha256 identity = model_.Identity();
  line.set_model_sha256(parameters::BytesOf(identity));
  ASSIGN_OR_RETURN(WrittenModel model,
                   model_.Write(surroundings_.store, name(), closed.round, identity, line.ended_unix_ns()));
  ASSIGN_OR_RETURN(std::optional<store::DurableFile> remembered,
                   model_.WriteStrategyState(surroundings_.store, name(), closed.round));
  ASSIGN_OR_RETURN(const RunOutcome outcome,
                   state_.Commit(closed.round, identity, surroundings_.clock.SteadyNs()));
  sum_.Clear();
  RETURN_IF_ERROR(journal_.CommitRound(Stored(), std::move(line), std::move(model), std::move(remembered)));
  spdlog::info("run {}: round {} committed, {} updates, loss {:.4f}", name(), closed.round,
               journal_.last()->accepted(), journal_.last()->loss());
  runtime::ReturnFreedMemory();
  // Already stored, but for a round that begins at once.
  Apply(outcome, true);
  return absl::OkStatus();
}

absl::Status Run::Pause() {
  RETURN_IF_ERROR(OwnOnly());
  return Apply(state_.Pause());
}

absl::Status Run::Resume() {
  RETURN_IF_ERROR(OwnOnly());
  return Apply(state_.Resume(surroundings_.clock.SteadyNs()));
}

absl::Status Run::Stop() {
  RETURN_IF_ERROR(OwnOnly());
  return Apply(state_.Stop());
}

absl::Status Run::RollBack(std::uint32_t round) {
  RETURN_IF_ERROR(OwnOnly());
  ASSIGN_OR_RETURN(const store::ModelRecord record, surroundings_.store.Model(name(), round));
  // From here on the model in memory is another one.
  if (!Healthy(model_.Load(surroundings_.store, record))) return health_;
  v1::Round line = ReportOf(round, 0, {});
  line.set_rolled_back(true);
  line.set_model_sha256(record.sha256);
  const absl::StatusOr<parameters::Sha256> identity = Bytes32FromWire("model", record.sha256);
  if (!Healthy(identity.status())) return health_;
  RunOutcome outcome = state_.ReplaceModel(*identity, surroundings_.clock.SteadyNs());
  sum_.Clear();
  account_.changed = true;
  if (!Healthy(journal_.RollBack(Stored(), std::move(line), record))) return health_;
  spdlog::info("run {}: back to the model after round {}", name(), round);
  outcome.failed.reset();  // the line says so
  if (outcome.started) Apply(outcome);
  return health_;
}

void Run::AddEvaluation(std::uint32_t round, const std::optional<v1::Evaluation>& evaluation) {
  account_.changed = true;
  if (!evaluation) account_.unjudgeable_round = round;
  if (evaluation && health_.ok()) Healthy(journal_.AddEvaluation(round, *evaluation));
}

std::int64_t Run::Advance() {
  for (;;) {
    if (!health_.ok()) return kNoDeadline;
    const Advanced advanced = state_.Advance(surroundings_.clock.SteadyNs());
    if (advanced.outcome.empty()) return advanced.next_ns;
    Apply(advanced.outcome);
  }
}

}  // namespace tributary::learning
