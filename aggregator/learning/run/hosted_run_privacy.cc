// A run's secure aggregation and differential privacy.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstring>
#include <utility>

#include "aggregator/learning/run/hosted_run.h"
#include "core/privacy/gaussian_noise.h"
#include "core/privacy/rdp_accountant.h"

namespace tributary {

absl::Status HostedRun::TakeKeys(std::uint32_t round, MaskingKeys keys) {
  std::string node = keys.node;
  return TakeStep(round, node, RoundStep::kKeys,
                  [&](MaskingSession& masking) { return masking.AddKeys(std::move(keys)); });
}

absl::Status HostedRun::TakeShares(std::uint32_t round, const std::string& node,
                                   std::vector<SealedShare> shares) {
  return TakeStep(round, node, RoundStep::kShares,
                  [&](MaskingSession& masking) { return masking.AddShares(node, std::move(shares)); });
}

absl::Status HostedRun::TakeRevealed(std::uint32_t round, RevealedShares shares) {
  std::string node = shares.from;
  return TakeStep(round, node, RoundStep::kUnmasking,
                  [&](MaskingSession& masking) { return masking.AddRevealed(std::move(shares)); });
}

absl::Status HostedRun::TakeStep(std::uint32_t round, const std::string& node, RoundStep step,
                                 const std::function<absl::Status(MaskingSession&)>& take) {
  if (!health_.ok()) return health_;
  if (masking_ && state_.round() == round && masking_->HasTaken(step, node)) return absl::OkStatus();
  // Whether the node was asked: its words must not even be kept otherwise.
  const NodeTask task = state_.TaskOf(node);
  const TaskKind wanted = step == RoundStep::kKeys     ? TaskKind::kAdvertiseKeys
                          : step == RoundStep::kShares ? TaskKind::kShareKeys
                                                       : TaskKind::kUnmask;
  if (!masking_ || task.kind != wanted || task.round != round) {
    return absl::FailedPreconditionError(
        fmt::format("node \"{}\" was not asked for that in round {}", node, round));
  }
  if (absl::Status status = take(*masking_); !status.ok()) return status;
  RunEvents events;
  absl::Status status = step == RoundStep::kUnmasking
                            ? FinishUnmasking(round, events)
                            : state_.FinishStep(node, round, step, surroundings_.clock.SteadyNs(), events);
  Apply(events, false);
  return status.ok() ? health_ : status;
}

absl::Status HostedRun::FinishUnmasking(std::uint32_t round, RunEvents& events) {
  const std::int64_t now_ns = surroundings_.clock.SteadyNs();
  absl::Status status;
  if (masking_->CanUnmask()) {
    // Of whom some may have waited for the shares that they lack.
    for (const std::string& node : masking_->revealers()) {
      if (status.ok() && !state_.closed()) {
        status = state_.FinishStep(node, round, RoundStep::kUnmasking, now_ns, events);
      }
    }
  } else if (masking_->AllRevealed()) {
    state_.FailRound(round, "too few good shares of a node's secrets", now_ns, events);
  }
  return status;
}

void HostedRun::LeaveOutLiars(std::uint32_t round) {
  if (!masking_) return;
  for (const std::string& node : masking_->at_fault()) {
    spdlog::warn("run {}: {} is left out from now on: it gave out wrong shares in round {}", name(), node,
                 round);
    state_.LeaveOut(node,
                    fmt::format("left out since round {}: it gave out wrong shares of its secrets", round));
  }
}

void HostedRun::FailUnless(const absl::Status& status, std::uint32_t round) {
  if (status.ok()) return;
  RunEvents events;
  state_.FailRound(round, std::string(status.message()), surroundings_.clock.SteadyNs(), events);
  Apply(events, false);
}

absl::Status HostedRun::BeginMaskingStep(const StepStarted& started) {
  if (!masking_) return absl::OkStatus();
  switch (started.step) {
    case RoundStep::kShares:
      return masking_->BeginSharing(started.nodes, MaskingThreshold(started.nodes.size()));
    case RoundStep::kTraining:
      masking_->BeginTraining(started.nodes);
      return absl::OkStatus();
    case RoundStep::kUnmasking:
      masking_->BeginUnmasking(started.nodes);
      return absl::OkStatus();
    case RoundStep::kKeys:
    case RoundStep::kClosing:
      break;
  }
  return absl::OkStatus();
}

absl::Status HostedRun::KeepLotsSecret() {
  const PrivacySettings& privacy = state_.config().privacy;
  if (privacy.noise_multiplier <= 0 || privacy.noise_seed != 0) return absl::OkStatus();
  const absl::StatusOr<Key32> entropy = NoiseKey(0, 0);
  if (!entropy.ok()) return entropy.status();
  std::uint64_t secret = 0;
  std::memcpy(&secret, entropy->data(), sizeof secret);
  state_.DrawLotsBy(secret);
  return absl::OkStatus();
}

absl::Status HostedRun::AddNoise(const RoundClosed& closed, std::span<float> combined) const {
  const RunConfig& config = state_.config();
  if (config.privacy.noise_multiplier <= 0) return absl::OkStatus();
  const absl::StatusOr<Key32> key = NoiseKey(config.privacy.noise_seed, closed.round);
  if (!key.ok()) return key.status();
  // On the sum noise_multiplier · clip_norm; the mean has that divided by the number of nodes (weights are
  // 1).
  return AddGaussianNoise(*key, config.privacy.noise_multiplier * config.clip_norm / closed.total_weight,
                          combined);
}

double HostedRun::Epsilon(std::uint32_t draws) const {
  const RunConfig& config = state_.config();
  if (config.privacy.noise_multiplier <= 0) return 0;
  const auto accountant = RdpAccountant::Create(config.privacy.noise_multiplier, config.sample_fraction);
  return accountant.ok() ? accountant->Epsilon(draws, config.privacy.delta) : 0;
}

}  // namespace tributary
