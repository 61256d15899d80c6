// One run: what its nodes and its operators ask of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/run/relayed_run.h"
#include "aggregator/learning/run/round_course.h"
#include "aggregator/learning/run/run_parts.h"
#include "aggregator/learning/run/upload.h"
#include "tributary/v1/run.pb.h"

namespace tributary::learning {

// One thread at a time. What changes is in the store before a function returns, so that its caller can
// answer.
//
// A run of this aggregator's own takes the mean of each closed round, steps its model and commits it. A
// relayed run is a part of a parent's: RelayedRun says when its rounds begin and what becomes of their sums.
//
// An error of the store ends it: health() says why, everything is refused from then on, nothing in the store
// is overwritten. HostedRuns::Recover and a restart go on from what is stored.
class Run {
 public:
  // run_opening.h makes the parts.
  explicit Run(std::unique_ptr<RunParts> parts);
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

  // Submissions::Decline; whether it is news.
  absl::StatusOr<bool> Decline(const v1::DeclineTaskRequest& decline);

  // Secure aggregation. Errors: FailedPrecondition unless the node was asked for that in this round;
  // InvalidArgument for what cannot be taken.
  absl::Status Take(MaskingMessage message) { return rounds_.Take(std::move(message)); }
  // The round under way has it; null without secure aggregation.
  const MaskingSession* masking() const { return rounds_.masking(); }

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

  // What the parent asks of it; null: a run of this aggregator's own.
  RelayedRun* relayed() { return relayed_ ? &*relayed_ : nullptr; }

  const std::string& name() const { return run_.name(); }
  const absl::Status& health() const { return run_.health; }
  const RunState& state() const { return run_.state; }
  const RunModel& model() const { return run_.model; }
  const Journal& journal() const { return run_.journal; }
  const RunParts& parts() const { return run_; }
  // What has changed since this was last called: nodes whose task or status may be another one; whether
  // RecordOf is.
  ChangedNodes TakeChangedNodes() { return run_.rules.TakeChanged(); }
  bool TakeChanged() { return std::exchange(run_.account.changed, false); }

 private:
  // Stores updates that the rules have accepted and adds them up; gives one answer to each. `uploads`: theirs
  // first; a small one still has its bytes in memory.
  void Keep(std::span<KeptUpdate> updates, std::span<const std::unique_ptr<Upload>> uploads,
            std::vector<Admission>& answers);
  absl::Status OwnOnly() const;

  const std::unique_ptr<RunParts> owned_;
  RunParts& run_;
  RoundCourse rounds_;
  std::optional<RelayedRun> relayed_;
};

}  // namespace tributary::learning
