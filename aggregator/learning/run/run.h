// One run with all that belongs to it: the rules' state, the model, the round's sum, and its place in the
// store.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/round/run_state.h"
#include "aggregator/learning/run/journal.h"
#include "aggregator/learning/run/masking_session.h"
#include "aggregator/learning/run/round_sum.h"
#include "aggregator/learning/run/run_model.h"
#include "aggregator/learning/run/upload.h"
#include "core/runtime/clock.h"
#include "core/runtime/log.h"
#include "tributary/v1/run.pb.h"
#include "tributary/v1/store.pb.h"

namespace tributary::learning {

// What a run knows beside the rules and the store.
struct RunAccount {
  std::int64_t started_unix_ns = 0;
  // Since the run began, with the round under way.
  std::uint64_t accepted = 0, refused = 0, declined = 0;
  double epsilon = 0;
  std::int64_t round_started_unix_ns = 0;
  std::uint64_t round_refused = 0;      // in the round under way
  std::string failure;                  // why the run cannot go on: its model has diverged
  std::uint32_t unjudgeable_round = 0;  // 0: none
  bool changed = true;
};

// One thread at a time. What changes is in the store before a function returns, so that its caller can
// answer.
//
// A run of this aggregator's own takes the mean of each closed round, steps its model and commits it. A
// relayed run is a part of a parent's: its rounds come from there (BeginParentRound) and their sums go to its
// sink.
//
// Memory: the model and the sum, one float and one word per parameter, beside what the strategy remembers;
// the robust strategies hold every update of a round while they combine them.
//
// An error of the store ends it: health() says why, everything is refused from then on, nothing in the store
// is overwritten. A restart goes on from there.
class Run {
 public:
  // Errors: InvalidArgument for the configuration (one line per fault) or the model; AlreadyExists; those of
  // the store. Nothing is left behind then.
  static absl::StatusOr<std::unique_ptr<Run>> Start(const RunSurroundings& surroundings,
                                                    std::string_view config, std::string_view model_file);
  // A parent's run, of what its tasks say. Errors as those of Start, and InvalidArgument for a model that is
  // not the one from which `round` starts.
  static absl::StatusOr<std::unique_ptr<Run>> StartRelayed(const RunSurroundings& surroundings,
                                                           const RunConfig& config,
                                                           std::string_view model_file,
                                                           const ParentRound& round);
  // From where the store says it stands. DataLoss: what is stored is damaged.
  static absl::StatusOr<std::unique_ptr<Run>> Restore(const RunSurroundings& surroundings,
                                                      const store::RunRecord& record);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  absl::Status Join(const v1::ParticipateRequest& declaration);
  void Leave(std::string_view node, std::string_view boot_id);

  // kGo: send the update through NewUpload, then Submit or Withdraw.
  Admission Admit(const v1::UpdateHeader& header);
  std::unique_ptr<Upload> NewUpload(const v1::UpdateHeader& header);
  // Uploads that have arrived together are made durable together. The answers are in their order.
  std::vector<Admission> Submit(std::vector<std::unique_ptr<Upload>> uploads);
  void Withdraw(const v1::UpdateHeader& header, v1::SubmitRefusal reason);

  // RunState::Decline; whether it is news.
  absl::StatusOr<bool> Decline(const v1::DeclineTaskRequest& decline);

  // Secure aggregation. Errors: FailedPrecondition unless the node was asked for that in this round;
  // InvalidArgument for what cannot be taken.
  absl::Status Take(MaskingMessage message);
  // The round under way has it; null without secure aggregation.
  const MaskingSession* masking() const { return masking_ ? &*masking_ : nullptr; }

  // FailedPrecondition for a relayed run: operators change it at the parent.
  absl::Status Pause();
  absl::Status Resume();
  absl::Status Stop();
  // The model after `round` is the start of the next one. NotFound: it is not kept.
  absl::Status RollBack(std::uint32_t round);
  // Adds how the model after `round` was judged; nothing: it cannot be judged.
  void AddEvaluation(std::uint32_t round, const std::optional<v1::Evaluation>& evaluation);

  // Starts and ends rounds; returns the steady time at which to call again.
  std::int64_t Advance();

  // For a relayed run: the parent asks for this round, perhaps again; `model_file` may be empty if the
  // present model is the round's. Errors: InvalidArgument for a model that is not the one that the round
  // names, or has another schema; those of RunState::Begin; the run's health.
  absl::Status BeginParentRound(const ParentRound& round, std::string_view model_file);
  // The closed round's words are in sum(). Adds them up again without some updates, of which at least one is
  // left.
  absl::Status SumAgain(std::vector<KeptUpdate> updates);
  // The parent has taken the sum, or it has not and the round's updates are void here too. Without effect on
  // another round.
  void EndParentRound(std::uint32_t round, const absl::Status& outcome);
  // The parent's run has ended: the nodes are told.
  void EndRelayed();
  // Called when a round has closed whose sum does not go into a model of this aggregator's own.
  void SetSink(std::function<void()> on_round_closed) { sink_ = std::move(on_round_closed); }

  const absl::Status& health() const { return health_; }
  const std::string& name() const { return state_.config().name; }
  bool relayed() const { return state_.config().relayed; }
  const std::shared_ptr<const std::string>& config_text() const { return config_text_; }
  const RunSurroundings& surroundings() const { return surroundings_; }
  const RunState& state() const { return state_; }
  const RoundSum& sum() const { return sum_; }
  const RunModel& model() const { return model_; }
  const Journal& journal() const { return journal_; }
  const RunAccount& account() const { return account_; }
  // What has changed since this was last called: nodes whose task or status may be another one; whether
  // RecordOf is.
  ChangedNodes TakeChangedNodes() { return state_.TakeChanged(); }
  bool TakeChanged() { return std::exchange(account_.changed, false); }

 private:
  std::int64_t now_ns() const { return surroundings_.clock.SteadyNs(); }  // steady

  Run(const RunSurroundings& surroundings, std::string_view config, RunState state, RunModel model);
  static absl::StatusOr<std::unique_ptr<Run>> Make(const RunSurroundings& surroundings,
                                                   std::string_view config_text, RunConfig config,
                                                   parameters::FlatModel model,
                                                   const v1::StoredRun& stored = {},
                                                   std::span<const v1::StoredUpdate> accepted = {});
  // Into the store, with its model after `model_round`.
  absl::Status Add(std::uint32_t model_round);

  // Makes `status` the run's health unless it is fine.
  bool Healthy(absl::Status status);
  void CountRefusal();
  v1::StoredRun Stored() const;
  void Apply(const RunOutcome& outcome, bool saved = false);
  absl::Status Apply(absl::StatusOr<RunOutcome> outcome);
  bool KeepFailure(v1::Round line);
  void BeginRound();
  // Stores updates that the rules have accepted and adds them up; gives one answer to each. `uploads`: theirs
  // first; a small one still has its bytes in memory.
  void Keep(std::span<KeptUpdate> updates, std::span<const std::unique_ptr<Upload>> uploads,
            std::vector<Admission>& answers);
  absl::Status CommitRound();
  absl::Status FinishUnmasking(std::uint32_t round);
  void LeaveOutLiars(std::uint32_t round);
  void FailRound(std::uint32_t round, const absl::Status& status);
  absl::Status OwnOnly() const;

  const RunSurroundings surroundings_;
  const std::shared_ptr<const std::string> config_text_;
  RunState state_;
  RunModel model_;
  RoundSum sum_;
  Journal journal_;
  std::optional<MaskingSession> masking_;
  // For uploads under way, on other threads; null if those of earlier rounds count too.
  std::shared_ptr<std::atomic<std::uint32_t>> round_under_way_;
  std::function<void()> sink_;  // null: of this aggregator's own, or nobody waits for the sum
  RunAccount account_;
  absl::Status health_;
};

}  // namespace tributary::learning
