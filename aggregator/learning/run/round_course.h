// Carries out what the rules decide about a run's rounds.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/run/masking_session.h"
#include "aggregator/learning/run/run_parts.h"

namespace tributary::learning {

// Begins and fails rounds and, in a run of this aggregator's own, takes the mean of a closed one, steps the
// model and commits it. A closed round of a relayed run waits for RelayedRun. What changes is in the store
// before a function returns. One thread at a time.
class RoundCourse {
 public:
  explicit RoundCourse(RunParts& run);  // outlives it

  // Stores what an operation has changed and does what follows from it. `saved`: it is in the store already,
  // unless a round begins. Returns the operation's error or the run's health.
  absl::Status Apply(absl::StatusOr<RunOutcome> outcome);
  void Apply(const RunOutcome& outcome, bool saved = false);
  // Without effect on another round.
  void FailRound(std::uint32_t round, const absl::Status& status);

  // Secure aggregation: Run::Take.
  absl::Status Take(MaskingMessage message);
  const MaskingSession* masking() const { return masking_ ? &*masking_ : nullptr; }

  // The number of the round under way, for uploads on other threads; null if those of earlier rounds count
  // too.
  std::shared_ptr<const std::atomic<std::uint32_t>> UnderWay();

 private:
  void BeginRound();
  bool KeepFailure(v1::Round line);
  absl::Status CommitRound();
  void LookForClusters(std::uint32_t round);
  void KeepClusters(std::uint32_t round, std::string why_none);
  absl::Status FinishUnmasking(std::uint32_t round);
  void LeaveOutLiars(std::uint32_t round);

  RunParts& run_;
  std::optional<MaskingSession> masking_;  // of the round under way
  std::shared_ptr<std::atomic<std::uint32_t>> under_way_;
};

}  // namespace tributary::learning
