#include "aggregator/learning/run/run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <utility>

#include "aggregator/learning/run/messages.h"
#include "aggregator/learning/run/run_record.h"
#include "core/parameters/fixed_point.h"
#include "core/privacy/differential_privacy.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"
#include "core/wire/fields.h"

namespace tributary::learning {
namespace {

// Client-level differential privacy: adds the round's noise to the mean of updates of weight 1. Nothing
// without noise in the configuration.
absl::Status AddNoise(const RunConfig& config, std::uint32_t round, double total_weight,
                      std::span<float> combined) {
  if (config.privacy.noise_multiplier <= 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const privacy::Key32 key, privacy::NoiseKey(config.privacy.noise_seed, round));
  // The sum's noise is noise_multiplier · clip_norm; the mean has that divided by the number of nodes.
  return privacy::AddGaussianNoise(
      key, config.privacy.noise_multiplier * config.client.clip_norm() / total_weight, combined);
}

}  // namespace

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
  v1::StoredRun stored = state_.Snapshot();
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
  if (outcome.started) BeginRound();
  // A round of one's own that has closed needs no record: it is committed now, or closes again.
  const bool only_closed = outcome.closed && !relayed() && !outcome.state_changed;
  saved = saved && !outcome.started;
  if (!saved && !only_closed && !Healthy(journal_.Save(Stored()))) return;
  if (outcome.step && masking_) {
    const Round& round = *state_.under_way();
    if (absl::Status status = masking_->Begin(round.step(), round.StepNodes()); !status.ok()) {
      return FailRound(round.number(), status);
    }
  }
  if (!outcome.closed) return;
  if (!relayed()) {
    Healthy(CommitRound());
  } else if (sink_) {
    sink_();
  }
}

void Run::BeginRound() {
  account_.round_started_unix_ns = surroundings_.clock.UnixNs();
  account_.round_refused = 0;
  sum_.Start(FixedPointOf(state_.under_way()->started()));
  masking_.reset();
  if (state_.config().privacy.secure_aggregation) {
    masking_.emplace(privacy::MaskingContext(name(), state_.round()));
  }
}

bool Run::KeepFailure(v1::Round line) {
  AddAccount(*this, line);
  sum_.Clear();
  if (!Healthy(journal_.DropRound(Stored(), line))) return false;
  spdlog::warn("run {}: round {} changed nothing: {}", name(), line.round(), line.failure());
  LeaveOutLiars(line.round());
  return true;
}

void Run::FailRound(std::uint32_t round, const absl::Status& status) {
  Apply(state_.FailRound(round, std::string(status.message()), now_ns()));
}

absl::Status Run::Join(const v1::ParticipateRequest& declaration) {
  RETURN_IF_ERROR(health_);
  account_.changed = true;
  return Apply(state_.Join(declaration, now_ns()));
}

void Run::Leave(std::string_view node, std::string_view boot_id) {
  account_.changed = true;
  Apply(state_.Leave(node, boot_id, now_ns()));
}

void Run::CountRefusal() {
  ++account_.round_refused;
  ++account_.refused;
  account_.changed = true;
}

Admission Run::Admit(const v1::UpdateHeader& header) {
  if (!health_.ok()) {
    return Admission::TryAgain(v1::SUBMIT_REFUSAL_STORE, "{}", std::string(health_.message()));
  }
  Admission admission = state_.Admit(header, now_ns());
  if (admission.verdict == AdmissionVerdict::kRefused) CountRefusal();
  return admission;
}

std::unique_ptr<Upload> Run::NewUpload(const v1::UpdateHeader& header) {
  const RunConfig& config = state_.config();
  if (round_under_way_) *round_under_way_ = state_.round();
  return std::make_unique<Upload>(
      header,
      Upload::Limits{static_cast<float>(config.max_element), config.client.clip_norm() > 0, round_under_way_},
      [&store = surroundings_.store] { return store.NewSubmission(); });
}

std::vector<Admission> Run::Submit(std::vector<std::unique_ptr<Upload>> uploads) {
  std::vector<Admission> answers;
  auto staged = health_.ok() ? journal_.Stage(uploads) : absl::StatusOr<std::vector<KeptUpdate>>(health_);
  if (!staged.ok()) {
    const std::string why(staged.status().message());
    for (const std::unique_ptr<Upload>& each : uploads) {
      Withdraw(each->header(), v1::SUBMIT_REFUSAL_STORE);
      answers.push_back(Admission::TryAgain(v1::SUBMIT_REFUSAL_STORE, "{}", why));
    }
    return answers;
  }
  account_.changed = true;
  std::size_t kept = 0;  // of the staged ones; those behind it are accepted and not stored yet
  // Answers stay in order.
  const auto keep_up_to = [&](std::size_t end) {
    Keep(std::span(*staged).subspan(kept, end - kept), std::span(uploads).subspan(kept), answers);
    kept = end;
  };
  for (std::size_t i = 0; i < uploads.size(); ++i) {
    Acceptance acceptance = state_.Accept(uploads[i]->header(), now_ns());
    if (acceptance.admission.go()) {
      (*staged)[i].record.set_weight(acceptance.admission.weight);
    } else {
      keep_up_to(i);
      ++kept;
      if (acceptance.admission.verdict == AdmissionVerdict::kRefused) CountRefusal();
      answers.push_back(std::move(acceptance.admission));
    }
    if (acceptance.outcome.empty()) continue;
    keep_up_to(i + 1);
    Apply(acceptance.outcome);
  }
  keep_up_to(uploads.size());
  return answers;
}

void Run::Keep(std::span<KeptUpdate> updates, std::span<const std::unique_ptr<Upload>> uploads,
               std::vector<Admission>& answers) {
  if (updates.empty()) return;
  if (health_.ok()) Healthy(journal_.Keep(updates));
  for (std::size_t i = 0; i < updates.size(); ++i) {
    if (!health_.ok()) {
      answers.push_back(Admission::TryAgain(v1::SUBMIT_REFUSAL_STORE, "{}", std::string(health_.message())));
      continue;
    }
    // Stored: whatever happens from here on, a restart has it.
    ++account_.accepted;
    answers.push_back(Admission::Go(updates[i].record.weight()));
    Healthy(sum_.Add(std::move(updates[i]), uploads[i]->bytes()));
  }
}

void Run::Withdraw(const v1::UpdateHeader& header, v1::SubmitRefusal reason) {
  if (reason == v1::SUBMIT_REFUSAL_STORE && health_.ok()) journal_.SayRefused("its file cannot be written");
  CountRefusal();
  state_.Withdraw(header, reason);
}

absl::StatusOr<bool> Run::Decline(const v1::DeclineTaskRequest& decline) {
  RETURN_IF_ERROR(health_);
  const std::uint32_t under_way = state_.round();
  const bool named = under_way != 0 && state_.under_way()->line().declines_size() < Round::kNamedDeclines;
  ASSIGN_OR_RETURN(const Declined declined, state_.Decline(decline, now_ns()));
  // The first of a round: what a crowd says is in the round's line.
  if (declined.news && named) {
    spdlog::warn("run {}: {} does not train in round {}{}: {}: {}", name(), decline.node(), under_way,
                 decline.for_good() ? ", nor is it asked again" : "", DeclineName(decline.reason()),
                 decline.message());
  }
  if (declined.news) ++account_.declined;
  account_.changed = true;
  Apply(declined.outcome);
  RETURN_IF_ERROR(health_);
  return declined.news;
}

absl::Status Run::Take(MaskingMessage message) {
  RETURN_IF_ERROR(health_);
  const std::uint32_t round = message.round;
  const RoundStep step = message.step();
  const std::string node = message.node;
  if (masking_ && state_.round() == round && masking_->HasTaken(step, node)) return absl::OkStatus();
  // Whether the node was asked: its words must not even be kept otherwise.
  const NodeTask task = state_.TaskOf(node);
  if (!masking_ || task.kind != Round::TaskOf(step) || task.round != round) {
    return absl::FailedPreconditionError(
        fmt::format("node \"{}\" was not asked for that in round {}", node, round));
  }
  RETURN_IF_ERROR(masking_->Take(std::move(message)));
  account_.changed = true;
  if (step == RoundStep::kUnmasking) return FinishUnmasking(round);
  return Apply(state_.FinishStep(node, round, step, now_ns()));
}

absl::Status Run::FinishUnmasking(std::uint32_t round) {
  if (!masking_->CanUnmask()) {
    if (masking_->AllRevealed()) {
      FailRound(round, absl::AbortedError("too few good shares of a node's secrets"));
    }
    return health_;
  }
  // Some of them may have waited for the shares that they lack. The last one closes the round.
  for (const std::string& node : masking_->revealers()) {
    if (state_.closed() || state_.round() != round) break;
    RETURN_IF_ERROR(Apply(state_.FinishStep(node, round, RoundStep::kUnmasking, now_ns())));
  }
  return health_;
}

void Run::LeaveOutLiars(std::uint32_t round) {
  if (!masking_) return;
  for (const std::string& node : masking_->at_fault()) {
    spdlog::warn("run {}: {} is left out from now on: it gave out wrong shares in round {}", name(), node,
                 round);
    state_.LeaveOut(node,
                    fmt::format("left out since round {}: it gave out wrong shares of its secrets", round));
  }
}

absl::Status Run::CommitRound() {
  v1::Round line = state_.under_way()->Report();
  if (masking_) {
    if (absl::Status status = masking_->Unmask(sum_.words()); !status.ok()) {
      FailRound(line.round(), status);
      return health_;
    }
  }
  const RunConfig& config = state_.config();
  const double total_weight = state_.under_way()->updates().total_weight();
  ASSIGN_OR_RETURN(const std::span<float> combined, sum_.Combine(model_.strategy(), total_weight));
  RETURN_IF_ERROR(AddNoise(config, line.round(), total_weight, combined));
  AddAccount(*this, line);
  line.set_update_norm(std::sqrt(parameters::SumOfSquares(combined)));
  // Spent once so many rounds were drawn, committed or not; 0 without noise.
  account_.epsilon = privacy::EpsilonAfter(line.round(), config.privacy.noise_multiplier,
                                           config.sample_fraction, config.privacy.delta)
                         .value_or(0);
  line.set_epsilon(account_.epsilon);
  if (absl::Status status = model_.Step(combined); !status.ok()) {
    account_.failure = fmt::format("round {}: {}", line.round(), std::string(status.message()));
    RETURN_IF_ERROR(state_.Stop().status());
    return journal_.Save(Stored());
  }
  const parameters::Sha256 identity = model_.Identity();
  line.set_model_sha256(parameters::BytesOf(identity));
  ASSIGN_OR_RETURN(WrittenModel model,
                   model_.Write(surroundings_.store, name(), line.round(), identity, line.ended_unix_ns()));
  ASSIGN_OR_RETURN(std::optional<store::DurableFile> remembered,
                   model_.WriteStrategyState(surroundings_.store, name(), line.round()));
  ASSIGN_OR_RETURN(const RunOutcome outcome, state_.Commit(line.round(), identity, now_ns()));
  sum_.Clear();
  RETURN_IF_ERROR(journal_.CommitRound(Stored(), std::move(line), std::move(model), std::move(remembered)));
  spdlog::info("run {}: round {} committed, {} updates, loss {:.4f}", name(), journal_.last()->round(),
               journal_.last()->accepted(), journal_.last()->loss());
  runtime::ReturnFreedMemory();
  // Already stored, but for a round that begins at once.
  Apply(outcome, true);
  return absl::OkStatus();
}

absl::Status Run::Pause() {
  RETURN_IF_ERROR(OwnOnly());
  return Apply(state_.SetPaused(true, now_ns()));
}

absl::Status Run::Resume() {
  RETURN_IF_ERROR(OwnOnly());
  return Apply(state_.SetPaused(false, now_ns()));
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
  v1::Round line;
  line.set_round(round);
  line.set_rolled_back(true);
  AddAccount(*this, line);
  line.set_model_sha256(record.sha256);
  const absl::StatusOr<parameters::Sha256> identity = wire::Bytes32FromWire("model", record.sha256);
  if (!Healthy(identity.status())) return health_;
  RunOutcome outcome = state_.ReplaceModel(*identity, now_ns());
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
    const Advanced advanced = state_.Advance(now_ns());
    if (advanced.outcome.empty()) return advanced.next_ns;
    Apply(advanced.outcome);
  }
}

}  // namespace tributary::learning
