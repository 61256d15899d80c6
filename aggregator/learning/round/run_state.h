// One run of federated learning: who takes part, which round is under way, which updates count.
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

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/round/roster.h"
#include "aggregator/learning/round/round.h"
#include "aggregator/learning/round/round_sequence.h"
#include "aggregator/learning/round/round_source.h"
#include "aggregator/learning/round/submission.h"
#include "core/learning/run_config.h"
#include "core/parameters/tensor.h"

namespace tributary::learning {

// What a node is told to do.
struct NodeTask {
  TaskKind kind = TaskKind::kWait;
  std::uint32_t round = 0;
  std::int64_t deadline_ns = 0;  // steady
  std::string reason = {};       // of kWait and kEnded

  friend bool operator==(const NodeTask&, const NodeTask&) = default;
};

enum class RunPhase : std::uint8_t { kWaiting, kRunning, kPaused, kFinished, kStopped };

struct Acceptance {
  Admission admission;
  RunOutcome outcome;
};

struct Declined {
  bool news = false;
  RunOutcome outcome;
};

struct Advanced {
  std::int64_t next_ns = kNoDeadline;  // steady: call Advance again then, at the latest
  RunOutcome outcome;
};

class RunState {
 public:
  // `lots`: who is asked is drawn from this as well. With differential privacy it has to be a secret: epsilon
  // counts on nobody knowing who took part (amplification by sampling). Errors: those of Validate(config);
  // InvalidArgument for a model without elements.
  static absl::StatusOr<RunState> Create(RunConfig config, const ModelFacts& model, std::uint64_t lots = 0);

  // All that a restart needs, but for the accepted updates of the round under way: those have records of
  // their own, and Restore takes them in the order of acceptance.
  v1::StoredRun Snapshot() const;
  // After a restart: nodes have to join again, and the first Advance gives the round under way a new
  // deadline. A round of secure aggregation cannot go on without its keys: the first Advance fails it,
  // closed or not. Another round that had closed is closed again. DataLoss: what is stored contradicts
  // itself.
  static absl::StatusOr<RunState> Restore(RunConfig config, const ModelFacts& model,
                                          const v1::StoredRun& stored,
                                          std::span<const v1::StoredUpdate> accepted, std::uint64_t lots = 0);

  // A node that is known keeps its place, whatever its boot_id. Errors: those of CheckDeclaration;
  // ResourceExhausted beyond max_nodes.
  absl::StatusOr<RunOutcome> Join(const v1::ParticipateRequest& declaration, std::int64_t now_ns);
  // Its stream ended. Without effect if the node has joined again since with another boot_id.
  RunOutcome Leave(std::string_view node, std::string_view boot_id, std::int64_t now_ns);

  // The reason of kWait is exact when something changed for that node, and may be out of date later.
  NodeTask TaskOf(std::string_view node) const;

  // Before the first chunk. kGo reserves the node's place until Accept or Withdraw.
  Admission Admit(const v1::UpdateHeader& header, std::int64_t now_ns);
  // After the last chunk; what was admitted may have become stale meanwhile and is then refused.
  Acceptance Accept(const v1::UpdateHeader& header, std::int64_t now_ns);
  // A submission that was admitted broke off, or its contents were refused for that reason, which is counted.
  // The caller takes what it had added off the sum, unless the sum has been started afresh since.
  void Withdraw(const v1::UpdateHeader& header, std::optional<v1::SubmitRefusal> reason = std::nullopt);

  // The node does not do its part of the round (0: the one under way), and the round goes on without it. If
  // it says for_good, it is not asked again before it joins with another declaration or boot_id. Errors:
  // FailedPrecondition unless it was asked for that, as the process that it is now.
  absl::StatusOr<Declined> Decline(const v1::DeclineTaskRequest& decline, std::int64_t now_ns);
  // Whether it is here and is not asked: it declined for good, or was left out.
  bool CannotTrain(std::string_view node) const;

  // Secure aggregation: the node has done its part of kKeys, kShares or kUnmasking. Errors:
  // FailedPrecondition unless it was asked for that in this round.
  absl::StatusOr<RunOutcome> FinishStep(std::string_view node, std::uint32_t round, RoundStep step,
                                        std::int64_t now_ns);
  // An open round cannot be completed (too few shares, damaged ones): RunOutcome::failed.
  RunOutcome FailRound(std::uint32_t round, std::string_view reason, std::int64_t now_ns);

  // The node has broken the protocol: until a restart it is asked no more, nor waited for in a round that has
  // just begun.
  void LeaveOut(std::string_view node, const std::string& reason);

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
  // A round is under way, or waits for its nodes.
  bool begun() const { return under_way() != nullptr || (rounds_.parent() && rounds_.parent()->gathering()); }
  bool closed() const { return rounds_.closed(); }  // Commit is next

  // Starts rounds and ends those whose deadline has passed.
  Advanced Advance(std::int64_t now_ns);

  // A pause lets the round under way end and starts no other. FailedPrecondition: the run has ended.
  // Repeating changes nothing.
  absl::StatusOr<RunOutcome> SetPaused(bool paused, std::int64_t now_ns);
  absl::StatusOr<RunOutcome> Stop();

  // The nodes whose task or status may have changed since this was last called.
  ChangedNodes TakeChanged() { return roster_.changes().Take(); }

  RunPhase phase() const;
  std::string StatusMessage() const;  // what it waits for
  const RunConfig& config() const { return *config_; }
  const ModelFacts& model() const { return versions_.present(); }
  std::uint32_t committed() const { return committed_; }
  const Roster& roster() const { return roster_; }
  const Round* under_way() const { return rounds_.under_way(); }  // null: none
  // The following are of the round under way.
  std::uint32_t round() const { return under_way() ? under_way()->number() : 0; }  // 0: none
  std::int64_t deadline_ns() const { return under_way() ? under_way()->deadline_ns() : kNoDeadline; }

 private:
  RunState(RunConfig config, const ModelFacts& model, std::uint64_t lots);

  bool finished() const { return !config_->relayed && committed_ >= config_->rounds; }
  bool ended() const { return stopped_ || finished(); }
  // Each adds to `outcome` what has changed, and notes in the roster whom that concerns.
  void StartRoundIfReady(std::int64_t now_ns, RunOutcome& outcome);
  void EndStepIfDue(std::int64_t now_ns, RunOutcome& outcome);

  bool AlreadyAccepted(const v1::UpdateHeader& header) const;
  // kGo: the header may be taken.
  Admission Judge(const v1::UpdateHeader& header, std::int64_t now_ns) const;
  void CountRefusal(const v1::UpdateHeader& header, const Admission& refusal);

  std::unique_ptr<const RunConfig> config_;  // the parts below refer to it
  ModelVersions versions_;
  Roster roster_;
  RoundSequence rounds_;
  std::uint32_t committed_ = 0;  // rounds
  bool paused_ = false;
  bool stopped_ = false;
  bool restored_ = false;  // until the first Advance
};

}  // namespace tributary::learning
