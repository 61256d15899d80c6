#include "aggregator/learning/run/round_course.h"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "aggregator/learning/run/run_record.h"
#include "core/learning/round_verdict.h"
#include "core/parameters/fixed_point.h"
#include "core/privacy/differential_privacy.h"
#include "core/runtime/log.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"

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

RoundCourse::RoundCourse(RunParts& run)
    : run_(run),
      under_way_(run.state.config.asynchronous() ? nullptr
                                                 : std::make_shared<std::atomic<std::uint32_t>>(0)) {}

std::shared_ptr<const std::atomic<std::uint32_t>> RoundCourse::UnderWay() {
  if (under_way_) *under_way_ = run_.state.round();
  return under_way_;
}

absl::Status RoundCourse::Apply(absl::StatusOr<RunOutcome> outcome) {
  RETURN_IF_ERROR(outcome.status());
  Apply(*outcome);
  return run_.health;
}

void RoundCourse::Apply(const RunOutcome& outcome, bool saved) {
  if (!run_.health.ok() || outcome.empty()) return;
  run_.account.changed = true;
  if (under_way_) *under_way_ = run_.state.round();
  if (outcome.failed) {
    if (!KeepFailure(*outcome.failed)) return;
    saved = !outcome.started;
  }
  if (outcome.started) BeginRound();
  // A round of one's own that has closed needs no record: it is committed now, or closes again.
  const bool only_closed = outcome.closed && !run_.relayed() && !outcome.state_changed;
  saved = saved && !outcome.started;
  if (!saved && !only_closed && !run_.Healthy(run_.journal.Save(run_.Stored()))) return;
  if (outcome.step && masking_) {
    const Round& round = *run_.state.under_way();
    if (absl::Status status = masking_->Begin(round.step(), round.StepNodes()); !status.ok()) {
      return FailRound(round.number(), status);
    }
  }
  if (outcome.closed && !run_.relayed()) run_.Healthy(CommitRound());
}

void RoundCourse::BeginRound() {
  run_.account.round_started_unix_ns = run_.surroundings.clock.UnixNs();
  run_.account.round_refused = 0;
  run_.sum.Start(FixedPointOf(run_.state.under_way()->started()));
  masking_.reset();
  if (run_.state.config.privacy.secure_aggregation) {
    masking_.emplace(privacy::MaskingContext(run_.name(), run_.state.round()));
  }
}

bool RoundCourse::KeepFailure(v1::Round line) {
  AddAccount(run_, line);
  run_.sum.Clear();
  if (!run_.Healthy(run_.journal.DropRound(run_.Stored(), line))) return false;
  ++run_.account.failed_rounds;
  runtime::LogWarning("run {}: round {} changed nothing: {}", run_.name(), line.round(), line.failure());
  LeaveOutLiars(line.round());
  // Nodes fetch the model from its file: without it every later round would fail as well. Too many open files
  // are no fault of the store.
  const absl::Status model = run_.surroundings.store.Read(run_.journal.model().file).status();
  return absl::IsResourceExhausted(model) || run_.Healthy(model);
}

void RoundCourse::FailRound(std::uint32_t round, const absl::Status& status) {
  Apply(run_.rules.FailRound(round, std::string(status.message()), run_.now_ns()));
}

absl::Status RoundCourse::Take(MaskingMessage message) {
  RETURN_IF_ERROR(run_.health);
  const std::uint32_t round = message.round;
  const RoundStep step = message.step();
  const std::string node = message.node;
  if (masking_ && run_.state.round() == round && masking_->HasTaken(step, node)) return absl::OkStatus();
  // Whether the node was asked: its words must not even be kept otherwise.
  const NodeTask task = run_.state.TaskOf(node);
  if (!masking_ || task.kind != Round::TaskOf(step) || task.round != round) {
    return absl::FailedPreconditionError(
        fmt::format("node \"{}\" was not asked for that in round {}", node, round));
  }
  RETURN_IF_ERROR(masking_->Take(std::move(message)));
  run_.account.changed = true;
  if (step == RoundStep::kUnmasking) return FinishUnmasking(round);
  return Apply(run_.rules.FinishStep(node, round, step, run_.now_ns()));
}

absl::Status RoundCourse::FinishUnmasking(std::uint32_t round) {
  if (!masking_->CanUnmask()) {
    if (masking_->AllRevealed()) {
      FailRound(round, absl::AbortedError("too few good shares of a node's secrets"));
    }
    return run_.health;
  }
  // Some of them may have waited for the shares that they lack. The last one closes the round.
  for (const std::string& node : masking_->revealers()) {
    if (run_.state.closed() || run_.state.round() != round) break;
    RETURN_IF_ERROR(Apply(run_.rules.FinishStep(node, round, RoundStep::kUnmasking, run_.now_ns())));
  }
  return run_.health;
}

void RoundCourse::LeaveOutLiars(std::uint32_t round) {
  if (!masking_) return;
  for (const std::string& node : masking_->at_fault()) {
    runtime::LogWarning("run {}: {} is left out from now on: it gave out wrong shares in round {}",
                        run_.name(), node, round);
    run_.rules.LeaveOut(
        node, fmt::format("left out since round {}: it gave out wrong shares of its secrets", round));
  }
}

void RoundCourse::LookForClusters(std::uint32_t round) {
  if (!run_.node_clusters) return;
  run_.node_clusters->EndRound();
  FoundClusters found = run_.node_clusters->Find();
  const int before = run_.clusters == nullptr ? 0 : run_.clusters->clusters_size();
  if (found.clusters.empty() && before > 0) {
    KeepClusters(round, std::move(found.why_none));
    return;
  }
  auto clusters = std::make_shared<v1::Clusters>();
  for (const std::vector<std::string>& nodes : found.clusters) {
    clusters->add_clusters()->mutable_nodes()->Assign(nodes.begin(), nodes.end());
  }
  clusters->mutable_alone()->Assign(found.alone.begin(), found.alone.end());
  clusters->set_agreement(found.agreement);
  clusters->set_round(round);
  clusters->set_message(std::move(found.why_none));
  if (clusters->clusters_size() != before) {
    runtime::LogInfo(
        "run {}: its nodes form {} clusters, {} are alone; agreement {:.2f}; tributary run split {}",
        run_.name(), clusters->clusters_size(), clusters->alone_size(), clusters->agreement(), run_.name());
  }
  run_.clusters = std::move(clusters);
}

// After a restart there is nothing to be found for some rounds, and the last rounds of a schedule move
// little.
void RoundCourse::KeepClusters(std::uint32_t round, std::string why_none) {
  auto clusters = std::make_shared<v1::Clusters>(*run_.clusters);
  if (clusters->missing_since() == 0) {
    clusters->set_missing_since(round);
    runtime::LogInfo("run {}: the {} clusters of round {} are not found again: {}", run_.name(),
                     clusters->clusters_size(), clusters->round(), why_none);
  }
  clusters->set_message(std::move(why_none));
  run_.clusters = std::move(clusters);
}

absl::Status RoundCourse::CommitRound() {
  v1::Round line = run_.state.under_way()->Report();
  if (masking_) {
    if (absl::Status status = masking_->Unmask(run_.sum.words()); !status.ok()) {
      FailRound(line.round(), status);
      return run_.health;
    }
  }
  const RunConfig& config = run_.state.config;
  const double total_weight = run_.state.under_way()->updates().total_weight();
  ASSIGN_OR_RETURN(const std::span<float> combined, run_.sum.Combine(run_.model.strategy(), total_weight));
  RETURN_IF_ERROR(AddNoise(config, line.round(), total_weight, combined));
  AddAccount(run_, line);
  line.set_update_norm(std::sqrt(parameters::SumOfSquares(combined)));
  // Spent once so many rounds were drawn, committed or not; 0 without noise.
  run_.account.epsilon = privacy::EpsilonAfter(line.round(), config.privacy.noise_multiplier,
                                               config.sample_fraction, config.privacy.delta)
                             .value_or(0);
  line.set_epsilon(run_.account.epsilon);
  if (absl::Status status = run_.model.Step(combined, total_weight); !status.ok()) {
    run_.account.failure = fmt::format("round {}: {}", line.round(), std::string(status.message()));
    RETURN_IF_ERROR(run_.rules.Stop().status());
    return run_.journal.Save(run_.Stored());
  }
  const parameters::Sha256 identity = run_.model.Identity();
  line.set_model_sha256(parameters::BytesOf(identity));
  ASSIGN_OR_RETURN(WrittenModel model, run_.model.Write(run_.surroundings.store, run_.name(), line.round(),
                                                        identity, line.ended_unix_ns()));
  ASSIGN_OR_RETURN(std::optional<store::DurableFile> remembered,
                   run_.model.WriteStrategyState(run_.surroundings.store, run_.name(), line.round()));
  ASSIGN_OR_RETURN(const RunOutcome outcome, run_.rules.Commit(line.round(), identity, run_.now_ns()));
  run_.sum.Clear();
  LookForClusters(line.round());
  RETURN_IF_ERROR(
      run_.journal.CommitRound(run_.Stored(), std::move(line), std::move(model), std::move(remembered)));
  runtime::LogInfo("run {}: round {} committed, {} updates, loss {:.4f}", run_.name(),
                   run_.journal.last()->round(), run_.journal.last()->accepted(),
                   run_.journal.last()->loss());
  if (ChangedNothing(*run_.journal.last())) {
    runtime::LogWarning("run {}: round {} left the model as it was: its updates add up to nothing",
                        run_.name(), run_.journal.last()->round());
  }
  runtime::ReturnFreedMemory();
  // Already stored, but for a round that begins at once.
  Apply(outcome, true);
  return absl::OkStatus();
}

}  // namespace tributary::learning
