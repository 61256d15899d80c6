// One run with all that belongs to it: state, model, strategy, sum, and its place in the store.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/round/accumulator.h"
#include "aggregator/learning/round/run_state.h"
#include "aggregator/learning/rules/strategy.h"
#include "aggregator/learning/run/masking_session.h"
#include "aggregator/learning/run/run_document.h"
#include "aggregator/learning/run/run_view.h"
#include "aggregator/learning/service/upload.h"
#include "aggregator/store/store.h"
#include "core/parameters/flat_model.h"
#include "core/runtime/clock.h"

namespace tributary {

// Outlive the runs.
struct RunSurroundings {
  Store& store;
  const Clock& clock;
  std::uint32_t keep_models = 0;  // Store::CommitRound
  bool judged = false;            // models are, on images of the operator
};

// One thread at a time. What changes is in the store before a function returns, so that its caller can
// answer.
//
// Memory: the model and the sum, one float and one word per parameter, beside what the strategy remembers;
// the robust strategies hold every update of a round while they combine them.
//
// An error of the store ends it: health() says why, everything is refused from then on, nothing in the store
// is overwritten. A restart goes on from there.
class HostedRun {
 public:
  // Errors: InvalidArgument for the configuration (one line per fault) or the model; AlreadyExists; those of
  // the store. Nothing is left behind then.
  static absl::StatusOr<std::unique_ptr<HostedRun>> Start(const RunSurroundings& surroundings,
                                                          std::string_view config, std::string_view model);
  // From where the store says it stands, as a RelayedRun if it is one. DataLoss: what is stored is damaged.
  static absl::StatusOr<std::unique_ptr<HostedRun>> Restore(const RunSurroundings& surroundings,
                                                            const RunRecord& record);
  virtual ~HostedRun() = default;
  HostedRun(const HostedRun&) = delete;
  HostedRun& operator=(const HostedRun&) = delete;

  absl::Status Join(const NodeDeclaration& declaration);
  void Leave(std::string_view node, std::string_view boot_id);
  NodeTask TaskOf(std::string_view node) const { return state_.TaskOf(node); }

  // kGo: send the update through NewUpload, then Submit or Withdraw.
  Admission Admit(const SubmissionHeader& header);
  absl::StatusOr<Upload> NewUpload(const SubmissionHeader& header);
  Admission Submit(Upload upload);
  void Withdraw(const SubmissionHeader& header, SubmissionRefusal reason);

  // RunState::Decline.
  absl::StatusOr<bool> Decline(std::string_view node, std::string_view boot_id, std::uint32_t round,
                               const TaskDecline& decline);

  // Secure aggregation. Errors: FailedPrecondition unless the node was asked for that in this round;
  // InvalidArgument for what cannot be taken.
  absl::Status TakeKeys(std::uint32_t round, MaskingKeys keys);
  absl::Status TakeShares(std::uint32_t round, const std::string& node, std::vector<SealedShare> shares);
  absl::Status TakeRevealed(std::uint32_t round, RevealedShares shares);
  // Of the round under way; null without secure aggregation.
  const MaskingSession* masking() const { return masking_ ? &*masking_ : nullptr; }

  virtual absl::Status Pause();
  virtual absl::Status Resume();
  virtual absl::Status Stop();
  // The model after `round` is the start of the next one. NotFound: it is not kept.
  virtual absl::Status RollBack(std::uint32_t round);
  // Of the model after `round`; nullopt: it cannot be judged.
  void AddJudgement(std::uint32_t round, const std::optional<Judgement>& judgement);

  // Starts and ends rounds; returns the steady time at which to call again.
  virtual std::int64_t Advance();

  const absl::Status& health() const { return health_; }
  const std::string& name() const { return state_.config().name; }
  const std::string& config_text() const { return config_text_; }
  const RunState& state() const { return state_; }
  const ModelLayout& layout() const { return layout_; }
  const ModelRecord& model_record() const { return model_record_; }
  virtual RunView View() const;

 protected:
  HostedRun(const RunSurroundings& surroundings, RunState state, FlatModel model);
  static std::unique_ptr<HostedRun> Make(const RunSurroundings& surroundings, RunState state,
                                         FlatModel model);
  struct Submission {
    SubmissionDocument document;
    FileFacts file;
  };

  absl::Status Prepare(std::string_view config_text);
  // Into the store, with its model after `model_round`.
  absl::Status Add(std::uint32_t model_round);
  absl::Status LoadStrategyState();
  absl::Status LoadHistory();
  absl::Status AddUpAgain(std::vector<Submission> submissions);

  // Makes `status` the run's health unless it is fine.
  bool Healthy(absl::Status status);
  void CountRefusal();
  void Apply(const RunEvents& events, bool saved);
  // What becomes of the accepted updates.
  virtual absl::Status CloseRound(const RoundClosed& closed);
  absl::Status AddUp(const SubmissionDocument& document, const FileFacts& file);
  absl::StatusOr<std::span<float>> Combine(const RoundClosed& closed);
  absl::Status TakeStep(std::uint32_t round, const std::string& node, RoundStep step,
                        const std::function<absl::Status(MaskingSession&)>& take);
  // The round under way cannot be completed otherwise.
  void FailUnless(const absl::Status& status, std::uint32_t round);
  absl::Status BeginMaskingStep(const StepStarted& started);
  absl::Status FinishUnmasking(std::uint32_t round, RunEvents& events);
  void LeaveOutLiars(std::uint32_t round);
  absl::Status KeepLotsSecret();
  absl::Status AddNoise(const RoundClosed& closed, std::span<float> combined) const;
  double Epsilon(std::uint32_t draws) const;  // spent once so many rounds were drawn, committed or not
  std::optional<std::uint32_t> RoundToJudge() const;
  absl::StatusOr<DurableFile> WriteModel(std::uint32_t round);
  absl::StatusOr<std::optional<DurableFile>> WriteStrategyState(std::uint32_t round);
  RoundLine MakeLine(std::uint32_t round, std::uint32_t dropped, const DeclinedTasks& declined) const;
  std::string Document() const;

  RunSurroundings surroundings_;
  RunState state_;
  ModelLayout layout_;
  std::vector<float> model_;
  ModelRecord model_record_;
  std::string config_text_;
  std::int64_t started_unix_ns_ = 0;
  std::unique_ptr<Strategy> strategy_;
  std::optional<Accumulator> sum_;  // unless the strategy wants every update
  std::vector<float> combined_;     // of those that do
  std::optional<MaskingSession> masking_;
  // For uploads under way, on other threads; null if those of earlier rounds count too.
  std::shared_ptr<std::atomic<std::uint32_t>> round_under_way_;

  std::vector<Submission> submissions_;  // accepted in the round under way
  std::int64_t round_started_unix_ns_ = 0;
  std::uint32_t asked_ = 0;
  std::uint64_t refused_ = 0;  // in the round under way
  RunTotals totals_;
  std::vector<std::shared_ptr<const RoundLine>> history_;
  std::vector<ModelRecord> models_;
  std::uint32_t unjudgeable_round_ = 0;  // 0: none
  std::string failure_;
  absl::Status health_;
};

}  // namespace tributary
