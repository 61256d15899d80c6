// One run of federated learning: who takes part, and how its rounds go on.
//
//   Join, Leave ─► Advance (Begin) ─► started ─► Admit → Accept | Withdraw … ─► closed ─► Commit ─► …
//
// Round numbers ascend from 1 and are never used twice. A round that misses its quorum has failed: the next
// one has the next number and starts from the same model. A round ends when every asked node has sent its
// update, has sent one that can never be taken or has declined. It also ends when too many have declined for
// the quorum, and at its deadline.
//
// Pure: the time is passed in (steady clock, nanoseconds), nothing is stored or sent. An operation returns
// what it has changed; the caller stores that before it answers. An operation on one node costs O(log n),
// unless it makes a round start, go on to a step or end. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/round/run_state.h"
#include "aggregator/learning/round/submissions.h"

namespace tributary::learning {

struct Advanced {
  std::int64_t next_ns = kNoDeadline;  // steady: call Advance again then, at the latest
  RunOutcome outcome;
};

class RunRules {
 public:
  // A run that begins has nothing stored. After a restart the nodes have to join again, and the first Advance
  // gives the round under way a new deadline. A round of secure aggregation cannot go on without its keys:
  // the first Advance fails it, closed or not. Another round that had closed is closed again.
  //
  // `accepted`: the updates of the round under way, in the order of acceptance. `lots`: who is asked is drawn
  // from this as well. With differential privacy it has to be a secret: epsilon counts on nobody knowing who
  // took part (amplification by sampling). Errors: those of Validate(config); InvalidArgument for a model
  // without elements; DataLoss: what is stored contradicts itself.
  static absl::StatusOr<RunRules> Restore(RunConfig config, const ModelFacts& model,
                                          const v1::StoredRun& stored = {},
                                          std::span<const v1::StoredUpdate> accepted = {},
                                          std::uint64_t lots = 0);

  const RunState& state() const { return *run_; }  // stays where it is
  // Which updates count.
  Submissions submissions() { return Submissions(*run_); }

  // A node that is known keeps its place, whatever its boot_id. Beyond max_nodes one that has left gives its
  // place to the newcomer, or one without samples to a newcomer that has some, unless RunState::Needs it.
  // Errors: those of CheckDeclaration; ResourceExhausted if there is no such node.
  absl::StatusOr<RunOutcome> Join(const v1::ParticipateRequest& declaration, std::int64_t now_ns);
  // Its stream ended. Without effect if the node has joined again since with another boot_id.
  RunOutcome Leave(std::string_view node, std::string_view boot_id, std::int64_t now_ns);
  // The node has broken the protocol: until a restart it is asked no more, nor waited for in a round that has
  // just begun.
  void LeaveOut(std::string_view node, const std::string& reason);
  // The nodes whose task or status may have changed since this was last called.
  ChangedNodes TakeChanged() { return run_->roster.changes().Take(); }

  // Secure aggregation: the node has done its part of kKeys, kShares or kUnmasking. Errors:
  // FailedPrecondition unless it was asked for that in this round.
  absl::StatusOr<RunOutcome> FinishStep(std::string_view node, std::uint32_t round, RoundStep step,
                                        std::int64_t now_ns);
  // An open round cannot be completed (too few shares, damaged ones): RunOutcome::failed.
  RunOutcome FailRound(std::uint32_t round, std::string_view reason, std::int64_t now_ns);
  // The result of the closed round is stored; `model` is its identity. Errors: FailedPrecondition unless that
  // round is closed.
  absl::StatusOr<RunOutcome> Commit(std::uint32_t round, const parameters::Sha256& model,
                                    std::int64_t now_ns);
  // The next round starts from another model (a rollback); the round under way fails.
  RunOutcome ReplaceModel(const parameters::Sha256& model, std::int64_t now_ns);
  // A relayed run only: Advance starts this round as soon as its nodes are there (ParentRounds). The round
  // under way fails; if it is this one, its deadline moves and nothing else changes. FailedPrecondition: the
  // number does not come after the last one.
  absl::StatusOr<RunOutcome> Begin(const ParentRound& round, std::int64_t now_ns);
  // Starts rounds and ends those whose deadline has passed.
  Advanced Advance(std::int64_t now_ns);

  // A pause lets the round under way end and starts no other. FailedPrecondition: the run has ended.
  // Repeating changes nothing.
  absl::StatusOr<RunOutcome> SetPaused(bool paused, std::int64_t now_ns);
  absl::StatusOr<RunOutcome> Stop();
  // Stops a relayed run: its parent's is over.
  absl::StatusOr<RunOutcome> End(ParentEnd end);

 private:
  RunRules(std::unique_ptr<RunState> run, bool restored) : run_(std::move(run)), restored_(restored) {}

  // Whether the node has a place, or there is one now.
  bool MakePlace(const v1::ParticipateRequest& declaration);

  std::unique_ptr<RunState> run_;
  bool restored_;  // a round was under way; until the first Advance
};

}  // namespace tributary::learning
