// One round under way: who is asked, whose update may be taken and with which weight, when it is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/learning/round/admission.h"
#include "aggregator/learning/round/roster.h"
#include "core/learning/run_config.h"
#include "core/parameters/fixed_point.h"
#include "tributary/v1/run.pb.h"
#include "tributary/v1/store.pb.h"

namespace tributary::learning {

inline constexpr std::int64_t kNoDeadline = INT64_MAX;

// The steps of a round, in order. Without secure aggregation: kTraining and kClosing only.
enum class RoundStep : std::uint8_t { kKeys, kShares, kTraining, kUnmasking, kClosing };

// What a round begins with. FedBuff: `asked` are those that had joined. Every node may send, and weighs at
// most as much as the heaviest of these.
struct RoundPlan {
  std::uint32_t round = 0;
  v1::StoredRound started = {};  // who is asked, with the largest weight of each, and the fixed point
  std::int64_t deadline_ns = 0;
};

inline parameters::FixedPoint FixedPointOf(const v1::StoredRound& round) {
  return {round.fraction_bits(), round.bound(), round.word_bits() == 64 ? 64 : 32};
}

enum class TaskKind : std::uint8_t { kWait, kAdvertiseKeys, kShareKeys, kTrain, kUnmask, kEnded };

// Shares that reconstruct a secret when so many nodes advertised keys: a third may drop, and it is more than
// half, so that two disjoint groups of survivors cannot exist.
constexpr std::size_t MaskingThreshold(std::size_t nodes) { return nodes - nodes / 3; }

// What a node is to a round.
enum class Standing : std::uint8_t {
  kNotAwaited,  // not asked, or done
  kAwaited,
  kGivenUp,  // awaited no more, but what it still sends is taken unless it declined
};

enum class RoundTurn : std::uint8_t {
  kNone,
  kProlonged,  // another deadline, and nothing else
  kStep,       // on to the next step
  kClosed,     // the updates are complete
  kFailed,
};

struct RoundProgress {
  RoundTurn turn = RoundTurn::kNone;
  std::string reason = {};  // of kFailed
};

// The updates of one round: which are being sent, how many have been accepted, and for whom they speak.
// Keeps names and sums, not the headers: the store has those. An operation costs O(log n), Add also one such
// step per contributor. One thread at a time.
class UpdateTally {
 public:
  // An upload is reserved from its admission until it is accepted, refused or broken off.
  bool Reserved(std::string_view node) const { return under_way_.contains(node); }
  void Reserve(std::string_view node) { under_way_.emplace(node); }
  void Release(std::string_view node) { under_way_.erase(std::string(node)); }
  void ReleaseAll() { under_way_.clear(); }

  void Add(const v1::UpdateHeader& header, double weight) {
    counted_.insert(header.node());
    for (const v1::Contributor& each : header.contributors()) counted_.insert(each.node());
    ++count_;
    total_weight_ += weight;
  }
  // As the sender of an accepted update, or as one of its contributors.
  bool Counts(std::string_view node) const { return counted_.contains(node); }
  std::size_t count() const { return count_; }
  double total_weight() const { return total_weight_; }

 private:
  using Names = std::set<std::string, std::less<>>;

  Names under_way_;
  Names counted_;
  std::size_t count_ = 0;
  double total_weight_ = 0;
};

// A round owns what has come of it so far. It knows neither the run nor the model. Each operation on one node
// costs O(log n); Advance costs O(n) when a step ends and nothing otherwise. One thread at a time.
class Round {
 public:
  virtual ~Round() = default;

  const v1::StoredRound& started() const { return plan_.started; }
  std::uint32_t number() const { return plan_.round; }
  RoundStep step() const { return step_; }
  std::int64_t deadline_ns() const { return plan_.deadline_ns; }
  void MoveDeadline(std::int64_t deadline_ns) { plan_.deadline_ns = deadline_ns; }
  const UpdateTally& updates() const { return updates_; }
  const v1::AskedNode* Asked(std::string_view node) const;  // null: it was not
  bool HasDeclined(std::string_view node) const { return declined_.contains(node); }
  // A crowd that declines must not fill the history: so many are named in its line.
  static constexpr int kNamedDeclines = 8;
  // The round's line of the history, as far as it knows it: how many were asked, who has declined.
  const v1::Round& line() const { return line_; }
  v1::Round Report() const;  // O(n). With how many were dropped.

  // What a node does in that step, which is not kClosing.
  static TaskKind TaskOf(RoundStep step);
  // Null: it has nothing to do at present.
  std::optional<TaskKind> TaskFor(const v1::Participant& node) const;
  virtual Standing StandingOf(const v1::Participant& node) const = 0;
  // Whether what a node says about the round of that number concerns this one.
  virtual bool Covers(std::uint32_t round) const = 0;

  // Why no update of that round is taken from that node at present; null: it may be taken. `earlier_models`:
  // how many versions before the present one are known.
  virtual std::optional<Admission> Refuse(const v1::UpdateHeader& header, const v1::Participant& sender,
                                          std::size_t earlier_models, std::int64_t now_ns) const = 0;
  // The weight by which an update counts that may be taken and has this weight of its own; or why it does
  // not.
  virtual Admission Weigh(const v1::UpdateHeader& header, double weight) const = 0;

  void Reserve(const v1::UpdateHeader& header) { updates_.Reserve(header.node()); }
  // The upload is over. An upload that outlives its round leaves the node's upload of this round alone.
  void Release(const v1::UpdateHeader& header);
  void Accept(const v1::UpdateHeader& header, double weight);
  void Decline(const v1::DeclineTaskRequest& decline);
  virtual void GiveUp(std::string_view node) = 0;
  // Secure aggregation: the node has done its part of that step, which is not kTraining.
  virtual absl::Status FinishStep(std::string_view node, RoundStep step);

  // Ends the step if everyone is done, if too many have declined, or at the deadline.
  virtual RoundProgress Advance(std::int64_t now_ns) = 0;
  // O(n). Asked, and nothing has come; ascending.
  virtual std::vector<std::string> Missing() const = 0;

  // Who takes part in the present step, ascending. O(n).
  virtual std::vector<std::string> StepNodes() const { return {}; }

  // After a restart, before what was accepted comes in again.
  void Restore(RoundStep step);

 protected:
  Round(RoundPlan plan, RoundStep first);

  virtual void Finish(std::string_view node) = 0;  // its update has been accepted
  void BeginStep(RoundStep step, std::int64_t deadline_ns);
  RoundProgress Close();
  void ForgetDeclines();
  std::size_t declined_in_step() const { return declined_in_step_; }

 private:
  RoundPlan plan_;
  RoundStep step_;
  UpdateTally updates_;
  std::set<std::string, std::less<>> declined_;  // whatever the step
  std::size_t declined_in_step_ = 0;
  v1::Round line_;
};

// The kind that the run asks for; `config` must outlive it.
//
// Plain: each asked node sends one update. The round is over when every asked node has answered or given up,
// when so many have declined that the quorum is out of reach, or at the deadline. With fewer updates than the
// quorum it has failed.
//
// Secure aggregation: a plain round between three more steps (keys, shares, unmasking). Each step goes on
// with those that have done the one before, and fails with fewer than the quorum or the threshold. Unmasking
// ends as soon as the threshold is reached: more shares would not tell more.
//
// FedBuff: one version of the model, which the first updates to come make go on. Every node of the run may
// send, from this version or one of the few before; a stale update weighs less. The round is over when the
// buffer is full, or at the deadline if the quorum is there. Otherwise it waits on with another deadline and
// asks those again that had given up. It never fails by itself.
std::unique_ptr<Round> MakeRound(const RunConfig& config, RoundPlan plan);
std::unique_ptr<Round> MakeBufferedRound(const RunConfig& config, RoundPlan plan);  // FedBuff's

}  // namespace tributary::learning
