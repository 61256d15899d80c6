// A parent's run of which this aggregator adds up a part: its own nodes' updates, as one partial sum.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/round/submission.h"
#include "aggregator/learning/run/hosted_run.h"

namespace tributary {

struct PartialSum {
  std::vector<std::int32_t> words;  // in the parent's fixed point, one per parameter
  std::uint64_t sample_count = 0;
  std::vector<Contribution> contributors;  // the nodes that trained, also those of a child's children
  TrainingMetrics metrics;                 // means weighted by samples; the longest training; all steps
};

// What a node of its own notices is a run like any other, with the parent's name, round numbers and models.
// Its rounds begin and end with the parent's (RunState::Begin); what its nodes send is admitted, stored and
// added up as in a run of its own, so that it survives a crash. Where a run of its own would take the mean,
// the sum is handed up; where that would commit, the parent has answered.
//
// Of models only that of the round is kept, and only on the disk. Operators change it at the parent alone:
// Pause, Resume, Stop and RollBack are FailedPrecondition.
class RelayedRun final : public HostedRun {
 public:
  // Called once: with the sum when the round has closed, or with why there is none.
  using SumDone = std::function<void(absl::StatusOr<PartialSum>)>;

  // `config` is what the parent's tasks say, as the text of a run's file. Errors as those of
  // HostedRun::Start, and InvalidArgument for a model that is not the one from which `round` starts.
  static absl::StatusOr<std::unique_ptr<RelayedRun>> Start(const RunSurroundings& surroundings,
                                                           std::string_view config,
                                                           std::string_view model_file,
                                                           const ParentRound& round);
  static std::unique_ptr<HostedRun> Make(const RunSurroundings& surroundings, RunState state,
                                         FlatModel model);

  // The parent asks for this round, perhaps again. `model_file`: may be empty if the present model is the
  // round's. Errors: InvalidArgument for a model that is not the one that the round names, or has another
  // schema; FailedPrecondition: those of RunState::Begin; the run's health. `done` is then not called.
  absl::Status BeginRound(const ParentRound& round, std::string_view model_file, SumDone done);
  // The round's sum afresh, without what these nodes have a part in: the parent counts them elsewhere. An
  // update that is itself a sum is left out as a whole. Errors: FailedPrecondition unless that round has
  // closed, none of them is in its sum, or nothing is left; the run's health.
  absl::StatusOr<PartialSum> LeaveOut(std::uint32_t round, const std::vector<std::string>& nodes);
  // The parent has taken the sum, or it has not and the round's updates are void here too. Without effect on
  // another round.
  void EndRound(std::uint32_t round, const absl::Status& outcome);
  // The parent's run has ended: the nodes are told.
  void End();

  absl::Status Pause() override { return ParentsOnly(); }
  absl::Status Resume() override { return ParentsOnly(); }
  absl::Status Stop() override { return ParentsOnly(); }
  absl::Status RollBack(std::uint32_t) override { return ParentsOnly(); }
  std::int64_t Advance() override;
  RunView View() const override;

 private:
  using HostedRun::HostedRun;

  absl::Status ParentsOnly() const;
  absl::Status CloseRound(const RoundClosed& closed) override;
  absl::Status TakeModel(const ParentRound& round, FlatModel model);
  void HandUp();
  absl::StatusOr<PartialSum> Sum();

  SumDone done_;  // of the round that the parent asks for
};

}  // namespace tributary
