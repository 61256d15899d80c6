// One run of federated learning: who takes part, which round is under way, which updates count.
//
//   Join, Leave ─► Advance (Begin) ─► RoundStarted ─► Admit → Accept | Withdraw … ─► RoundClosed ─► Commit ─►
//   …
//
// Round numbers ascend from 1 and are never used twice: a round that misses its quorum has failed and the
// next one has the next number, from the same model. A round ends when every asked node has sent its update,
// has sent one that can never be taken or has declined; when so many have that the quorum is out of reach; or
// at its deadline.
//
// Pure: the time is passed in (steady clock, nanoseconds), nothing is stored or sent. What changes comes out
// as events in order, appended to `events`, to be stored before a caller is answered. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/rules/run_config.h"
#include "aggregator/learning/round/run_event.h"
#include "aggregator/learning/round/submission.h"
#include "core/parameters/identity.h"

namespace tributary {

struct ModelFacts {
  Sha256 schema{};
  Sha256 model{};  // of the present parameters
  std::uint64_t element_count = 0;
};

struct NodeDeclaration {
  std::string node;
  std::string boot_id;
  std::optional<Sha256> schema;    // of a model that it has
  std::uint64_t sample_count = 0;  // 0: not known yet; not asked until it joins again and says
  std::vector<std::string> workloads;
  std::vector<UpdateEncoding> encodings;  // empty: all
  bool secure_aggregation = false;
  bool partial_sums = false;  // its updates are sums of those of nodes of its own

  friend bool operator==(const NodeDeclaration&, const NodeDeclaration&) = default;
};

// A round of a relayed run, as the parent asks for it.
struct ParentRound {
  std::uint32_t round = 0;
  Sha256 model{};
  FixedPoint fixed_point;
  std::uint64_t sample_count = 0;  // that the sum may weigh: what was declared when the parent began
  std::int64_t deadline_ns = 0;    // steady; of the nodes
};

enum class TaskKind : std::uint8_t { kWait, kAdvertiseKeys, kShareKeys, kTrain, kUnmask, kEnded };

struct NodeTask {
  TaskKind kind = TaskKind::kWait;
  std::uint32_t round = 0;
  std::int64_t deadline_ns = 0;  // steady
  std::string reason;            // of kWait and kEnded

  friend bool operator==(const NodeTask&, const NodeTask&) = default;
};

enum class AdmissionVerdict : std::uint8_t { kGo, kAlreadyAccepted, kRefused };

struct Admission {
  AdmissionVerdict verdict = AdmissionVerdict::kRefused;
  double weight = 0;  // kGo: by which to add the update
  SubmissionRefusal reason = SubmissionRefusal::kUnspecified;
  std::string message;     // which field, what was found, what is allowed
  bool try_again = false;  // the same update may be taken later
  // Of a partial sum that can be taken without these contributors: those, kNamed of them at most.
  static constexpr std::size_t kNamed = 1'000;
  std::vector<std::string> counted_elsewhere = {};
};

enum class RunPhase : std::uint8_t { kWaiting, kRunning, kPaused, kFinished, kStopped };

struct ParticipantStatus {
  std::string node;
  bool connected = false;
  std::uint64_t sample_count = 0;
  std::uint32_t last_round = 0;  // in which an update of it was accepted; 0: none
  std::uint64_t accepted_updates = 0;
  std::uint64_t refused_updates = 0;
  std::uint64_t dropped_rounds = 0;
  std::string last_refusal;  // of an update of it, or of a task by it
  std::uint64_t declined_tasks = 0;
  std::string cannot_train;  // why it is not asked; empty: it is
};

// All that a restart needs, and what the events add up to.
struct RunSnapshot {
  std::uint32_t round = 0;      // the last one started
  std::uint32_t committed = 0;  // rounds
  bool paused = false;
  bool stopped = false;
  // The round under way, if any.
  std::optional<RoundStarted> open;
  RoundStep step = RoundStep::kTraining;
  std::vector<AcceptedUpdate> accepted;  // in the order of acceptance
  bool closed = false;                   // RoundClosed is out, Commit is due
  // Of FedBuff: the models of the versions before this one, oldest first.
  std::vector<Sha256> earlier_models;
  std::vector<ParticipantStatus> participants;  // without them, what was accepted earlier is not recognised
};

// Shares that reconstruct a secret when so many nodes advertised keys: a third may drop, and it is more than
// half, so that two disjoint groups of survivors cannot exist.
inline std::size_t MaskingThreshold(std::size_t nodes) { return nodes - nodes / 3; }

class RunState {
 public:
  static constexpr std::int64_t kNoDeadline = INT64_MAX;

  // Errors: those of Validate(config); InvalidArgument for a model without elements.
  static absl::StatusOr<RunState> Create(RunConfig config, const ModelFacts& model);

  // After a restart: nodes have to join again; the deadline of the round under way starts anew. A round of
  // secure aggregation cannot go on without its keys: it fails at the first Advance. If `closed`, RoundClosed
  // comes out again at the first Advance.
  static absl::StatusOr<RunState> Restore(RunConfig config, const ModelFacts& model,
                                          const RunSnapshot& snapshot);
  RunSnapshot Snapshot() const;

  // A node that is known keeps its place, whatever its boot_id. Errors: FailedPrecondition for a schema or a
  // capability that the run cannot use; ResourceExhausted beyond max_nodes; InvalidArgument for an absurd
  // sample count or an empty name.
  absl::Status Join(const NodeDeclaration& declaration, std::int64_t now_ns, RunEvents& events);
  // Its stream ended. Without effect if the node has joined again since with another boot_id.
  void Leave(std::string_view node, std::string_view boot_id, std::int64_t now_ns, RunEvents& events);

  NodeTask TaskOf(std::string_view node) const;

  // Before the first chunk. kGo reserves the node's place until Accept or Withdraw.
  Admission Admit(const SubmissionHeader& header, std::int64_t now_ns);
  // After the last chunk; what was admitted may have become stale meanwhile and is then refused.
  Admission Accept(const SubmissionHeader& header, std::int64_t now_ns, RunEvents& events);
  // A submission that was admitted broke off or was refused by its contents (which is counted). Of what it
  // had added to a sum that has been started afresh since, nothing is to be taken off.
  void Withdraw(const SubmissionHeader& header, std::optional<SubmissionRefusal> reason = std::nullopt);

  // The node does not do its part of the round (0: the one under way), which goes on without it; where it
  // says for_good, it is not asked again before it joins with another declaration or boot_id. Returns whether
  // that is news. Errors: FailedPrecondition unless it was asked for that, as the process that it is now.
  absl::StatusOr<bool> Decline(std::string_view node, std::string_view boot_id, std::uint32_t round,
                               const TaskDecline& decline, std::int64_t now_ns, RunEvents& events);
  // In the round under way.
  const DeclinedTasks& declined() const { return declines_; }
  // Whether it is here and is not asked: it declined for good, or was left out.
  bool CannotTrain(std::string_view node) const;

  // Secure aggregation: the node has done its part of kKeys, kShares or kUnmasking. Errors:
  // FailedPrecondition unless it was asked for that in this round.
  absl::Status FinishStep(std::string_view node, std::uint32_t round, RoundStep step, std::int64_t now_ns,
                          RunEvents& events);
  // An open round cannot be completed (too few shares, damaged ones): RoundFailed.
  void FailRound(std::uint32_t round, std::string_view reason, std::int64_t now_ns, RunEvents& events);

  // This node is asked no more, until a restart: it has broken the protocol. Of a round that has just begun
  // it takes no part either.
  void LeaveOut(std::string_view node, std::string reason);

  // The result of the closed round is stored; `model` is its identity. Errors: FailedPrecondition unless that
  // round is closed.
  absl::Status Commit(std::uint32_t round, const Sha256& model, std::int64_t now_ns, RunEvents& events);
  // The next round starts from another model (a rollback); the round under way fails.
  void ReplaceModel(const Sha256& model, std::int64_t now_ns, RunEvents& events);

  // Of a relayed run: the next Advance starts this round, as soon as nodes with all those samples are
  // connected or kGatherNs have passed (half the time, if that is less); it asks nodes in the order of their
  // names, as far as their samples fit. The round under way fails; if it is this one, its deadline moves and
  // nothing else changes. FailedPrecondition: the number does not come after the last one.
  static constexpr std::int64_t kGatherNs = 10'000'000'000;
  absl::Status Begin(const ParentRound& round, std::int64_t now_ns, RunEvents& events);
  bool begun() const { return next_ || open_; }                          // a round, started or not
  bool closed() const { return open_ && step_ == RoundStep::kClosing; }  // RoundClosed is out

  // Starts rounds and ends those whose deadline has passed. Returns the steady time of the next deadline, or
  // kNoDeadline.
  std::int64_t Advance(std::int64_t now_ns, RunEvents& events);

  // Pause lets the round under way end and starts no other. FailedPrecondition: the run has ended. Repeating
  // changes nothing.
  absl::Status Pause(RunEvents& events);
  absl::Status Resume(std::int64_t now_ns, RunEvents& events);
  absl::Status Stop(RunEvents& events);

  // Who is asked is drawn from this as well. With differential privacy it has to be a secret: epsilon counts
  // on nobody knowing who took part (amplification by sampling). 0 at first.
  void DrawLotsBy(std::uint64_t secret) { lot_secret_ = secret; }

  RunPhase phase() const;
  std::string StatusMessage() const;  // what it waits for
  const RunConfig& config() const { return config_; }
  const ModelFacts& model() const { return model_; }
  std::uint32_t round() const { return open_ ? open_->round : 0; }  // under way; 0: none
  std::uint32_t committed() const { return committed_; }
  std::int64_t deadline_ns() const { return open_ ? deadline_ns_ : kNoDeadline; }
  const std::optional<RoundStarted>& open_round() const { return open_; }
  const std::vector<AcceptedUpdate>& accepted() const { return accepted_; }
  // Secure aggregation: shares that reconstruct a secret; valid from the end of kKeys on.
  std::size_t threshold() const { return threshold_; }
  std::vector<ParticipantStatus> participants() const;  // ascending by name
  std::uint64_t refused(SubmissionRefusal reason) const { return refused_[static_cast<std::size_t>(reason)]; }

 private:
  struct Node {
    ParticipantStatus status;
    NodeDeclaration declaration;
    bool left_out = false;  // for breaking the protocol: status.cannot_train says why, until a restart

    bool ready() const { return status.connected && status.sample_count > 0 && status.cannot_train.empty(); }
  };
  using Names = std::set<std::string, std::less<>>;

  RunState(RunConfig config, const ModelFacts& model);

  bool finished() const { return !config_.relayed && committed_ >= config_.rounds; }
  bool ended() const { return stopped_ || finished(); }
  double WeightOf(std::uint64_t sample_count) const;
  bool Chosen(std::string_view node, std::uint32_t round) const;

  void StartRoundIfReady(std::int64_t now_ns, RunEvents& events);
  std::vector<AskedNode> Ready() const;  // ascending by name
  std::optional<RoundStarted> DrawRound();
  std::optional<RoundStarted> TakeParentRound(std::int64_t now_ns);
  void BeginStep(RoundStep step, Names nodes, std::int64_t deadline_ns);
  // Ends the step if everyone is done, or at the deadline.
  void EndStepIfDue(std::int64_t now_ns, RunEvents& events);
  std::size_t NeededInStep() const;
  void Keep(AcceptedUpdate update);
  void ForgetUpdates();
  void ForgetDeclines();
  std::string WhyTooFew(std::size_t done, std::size_t needed) const;
  void CloseRound(RunEvents& events);
  void Fail(std::string_view reason, RunEvents& events);
  std::vector<std::string> CountDropped();

  // Null if the header may be taken; `weight` is then set.
  std::optional<Admission> Refuse(const SubmissionHeader& header, std::int64_t now_ns, double& weight) const;
  std::optional<Admission> RefuseRound(const SubmissionHeader& header, std::int64_t now_ns) const;
  std::optional<Admission> RefuseContents(const SubmissionHeader& header) const;
  std::optional<Admission> RefuseContributors(const SubmissionHeader& header) const;
  bool AlreadyAccepted(const SubmissionHeader& header) const;
  void Count(const SubmissionHeader& header, const Admission& refusal);

  RunConfig config_;
  ModelFacts model_;
  std::map<std::string, Node, std::less<>> nodes_;
  std::optional<ParentRound> next_;  // not yet started
  std::int64_t gathered_ns_ = 0;     // when it starts with those that are there
  std::optional<RoundStarted> open_;
  RoundStep step_ = RoundStep::kTraining;
  Names step_nodes_;  // asked in this step
  Names step_done_;
  // Declined, or their update was refused for good: not waited for, nor asked again in this round.
  Names given_up_;
  Names declined_;  // in this round, whatever the step
  std::size_t declined_in_step_ = 0;
  DeclinedTasks declines_;
  // A round that failed before its deadline because nodes declined is not followed by the next at once:
  // rounds would be burnt as fast as nodes decline them. Each such failure in a row doubles the rest, up to
  // kMostRestNs or what is left of the deadline.
  static constexpr std::int64_t kFirstRestNs = 1'000'000'000;
  static constexpr std::int64_t kMostRestNs = 60'000'000'000;
  std::int64_t rest_ns_ = kFirstRestNs;
  std::int64_t rest_until_ns_ = 0;  // no round starts before; 0: none failed so
  std::size_t threshold_ = 0;       // of secure aggregation, from the end of kKeys on
  // Admitted, neither accepted nor withdrawn: the round in which that was.
  std::map<std::string, std::uint32_t, std::less<>> under_way_;
  std::vector<AcceptedUpdate> accepted_;
  Names counted_;  // nodes and contributors of what was accepted
  std::deque<Sha256> earlier_models_;
  std::uint32_t round_ = 0;
  std::uint32_t committed_ = 0;
  std::int64_t deadline_ns_ = kNoDeadline;
  bool paused_ = false;
  bool stopped_ = false;
  std::uint64_t lot_secret_ = 0;
  bool restored_ = false;  // until the first Advance
  std::array<std::uint64_t, kSubmissionRefusals> refused_{};
};

}  // namespace tributary
