// A parent's run of which this aggregator adds up a part: its own nodes' updates, as one partial sum.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/run/run.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

class Coordinator;

struct PartialSum {
  std::vector<std::int32_t> words;  // in the parent's fixed point, one per parameter
  // Sample count; the nodes that trained as contributors, also those of a child's children; metrics: means
  // weighted by samples, the longest training, all steps.
  v1::UpdateHeader header;
};

// What a node of its own notices is a run like any other, with the parent's name, round numbers and models.
// Its rounds begin and end with the parent's; what its nodes send is admitted, stored and added up as in a
// run of its own, so that it survives a crash. When a round has closed, its sum is handed to whoever asked
// for the round.
//
// Only the round's model is kept, and only on the disk. One thread at a time.
class RelayedRun {
 public:
  // Called once: with the sum when the round has closed, or with why there is none.
  using SumDone = std::function<void(absl::StatusOr<PartialSum>)>;

  // The run outlives it.
  explicit RelayedRun(Run& run) : run_(run) {
    run_.SetSink([this] { OnRoundClosed(); });
  }
  ~RelayedRun() { run_.SetSink(nullptr); }
  RelayedRun(const RelayedRun&) = delete;
  RelayedRun& operator=(const RelayedRun&) = delete;

  // The parent asks for this round, perhaps again. Errors: those of Run::BeginParentRound; `done` is then not
  // called.
  absl::Status BeginRound(const ParentRound& round, std::string_view model_file, SumDone done);

  // The round's sum afresh, without what these nodes have a part in: the parent counts them elsewhere. An
  // update that is itself a sum is left out as a whole. Errors: FailedPrecondition unless that round has
  // closed, none of them is in its sum, or nothing is left; the run's health.
  absl::StatusOr<PartialSum> LeaveOut(std::uint32_t round, const std::vector<std::string>& nodes);

  // The parent has taken the sum, or it has not and the round's updates are void here too. Without effect on
  // another round.
  void EndRound(std::uint32_t round, const absl::Status& outcome);

  // To be called after each Run::Advance: who waits for a sum that will not come is told so.
  void GiveUpIfOver();

 private:
  void OnRoundClosed();
  absl::StatusOr<PartialSum> Sum();

  Run& run_;
  SumDone done_;  // of the round that the parent asks for
};

// The following may be called from any thread and return at once; what they are given is called on the
// coordinator's thread and returns at once.

// The parent asks for a round of a run (Run::StartRelayed, RelayedRun::BeginRound); another relayed run ends.
// `done` is called once, with the sum or why there is none.
void BeginRelayed(Coordinator& coordinator, RunConfig config, ParentRound round, std::string model_file,
                  RelayedRun::SumDone done);
// Without effect on a run that is this aggregator's own. `missing` is called if there is no such relayed run.
void OnRelayed(Coordinator& coordinator, std::string run, std::function<void(RelayedRun&, Run&)> act,
               std::function<void()> missing = {});

}  // namespace tributary::learning
