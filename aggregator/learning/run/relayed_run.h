// A parent's run of which this aggregator adds up a part: its own nodes' updates, as one partial sum.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/run/round_course.h"
#include "aggregator/learning/run/run_parts.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

struct PartialSum {
  std::vector<std::int64_t> words;  // in the parent's fixed point, one per parameter
  // Sample count; the nodes that trained as contributors, also those of a child's children; metrics: means
  // weighted by samples, the longest training, all steps.
  v1::UpdateHeader header;
};

// What a parent asks of a run. To a node it is a run like any other, with the parent's name, round numbers
// and models. Its rounds begin and end with the parent's; what its nodes send is admitted, stored and added
// up as in a run of its own, so that it survives a crash. When a round has closed, its sum is handed to
// whoever asked for the round.
//
// Only the round's model is kept, and only on the disk. One thread at a time.
class RelayedRun {
 public:
  // Called once: with the sum when the round has closed, or with why there is none.
  using SumDone = std::function<void(absl::StatusOr<PartialSum>)>;

  // Both outlive it.
  RelayedRun(RunParts& run, RoundCourse& rounds) : run_(run), rounds_(rounds) {}

  // The parent asks for this round, perhaps again; `model_file` may be empty if the present model is the
  // round's. Errors: InvalidArgument for a model that is not the one that the round names, or has another
  // schema; those of RunRules::Begin; the run's health. `done` is then not called.
  absl::Status BeginRound(const ParentRound& round, std::string_view model_file, SumDone done);

  // To be called after each Run::Advance: gives the closed round's sum to who waits for it, or why it will
  // not come. After a restart nobody waits until the parent asks again.
  void AnswerIfOver();

  // The round's sum afresh, without what these nodes have a part in: the parent counts them elsewhere. An
  // update that is itself a sum is left out as a whole. Errors: FailedPrecondition unless that round has
  // closed, none of them is in its sum, or nothing is left; the run's health.
  absl::StatusOr<PartialSum> LeaveOut(std::uint32_t round, const std::vector<std::string>& nodes);

  // The parent has taken the sum, or it has not and the round's updates are void here too. Without effect on
  // another round.
  void EndRound(std::uint32_t round, const absl::Status& outcome);
  // The parent's run has ended: the nodes are told what the parent said.
  void End(ParentEnd end);

 private:
  absl::Status Begin(const ParentRound& round, std::string_view model_file);
  absl::StatusOr<PartialSum> Outcome() const;
  absl::StatusOr<PartialSum> Sum() const;

  RunParts& run_;
  RoundCourse& rounds_;
  SumDone done_;  // of the round that the parent asks for
};

}  // namespace tributary::learning
