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
#include "aggregator/learning/round/model_versions.h"
#include "aggregator/learning/round/node_task.h"
#include "aggregator/learning/round/roster.h"
#include "aggregator/learning/round/run_event.h"
#include "aggregator/learning/round/submission.h"
#include "aggregator/learning/round/update_tally.h"
#include "core/learning/run_config.h"
#include "core/parameters/task_decline.h"

namespace tributary::learning {

inline constexpr std::int64_t kNoDeadline = INT64_MAX;

// What a node is to a round.
enum class Standing : std::uint8_t {
  kNotAwaited,  // not asked, or done
  kAwaited,
  kGivenUp,  // awaited no more, but what it still sends is taken unless it declined
};

enum class RoundTurn : std::uint8_t {
  kNone,
  kProlonged,  // another deadline, and nothing else
  kStep,       // on to StepUnderWay()
  kClosed,     // the updates are complete
  kFailed,
};

struct RoundProgress {
  RoundTurn turn = RoundTurn::kNone;
  std::string reason = {};         // of kFailed
  bool too_many_declined = false;  // kFailed before its deadline
};

// A round owns what has come of it so far. It knows neither the run nor the model. Each operation on one node
// costs O(log n); Advance costs O(n) when a step ends and nothing otherwise. One thread at a time.
class Round {
 public:
  virtual ~Round() = default;

  const RoundStarted& started() const { return started_; }
  std::uint32_t number() const { return started_.round; }
  RoundStep step() const { return step_; }
  std::int64_t deadline_ns() const { return deadline_ns_; }
  void MoveDeadline(std::int64_t deadline_ns) { deadline_ns_ = deadline_ns; }
  const DeclinedTasks& declines() const { return declines_; }
  const UpdateTally& updates() const { return updates_; }
  const AskedNode* Asked(std::string_view node) const;  // null: it was not
  bool HasDeclined(std::string_view node) const { return declined_.contains(node); }

  // Null: it has nothing to do at present.
  std::optional<TaskKind> TaskFor(const ParticipantStatus& node) const;
  virtual Standing StandingOf(const ParticipantStatus& node) const = 0;
  // Whether what a node says about the round of that number concerns this one.
  virtual bool Covers(std::uint32_t round) const = 0;

  // Why no update of that round is taken from that node at present; null: it may be taken.
  virtual std::optional<Admission> Refuse(const SubmissionHeader& header, const ParticipantStatus& sender,
                                          const ModelVersions& versions, std::int64_t now_ns) const = 0;
  // The weight by which an update counts that may be taken and has this weight of its own; or why it does
  // not.
  virtual Admission Weigh(const SubmissionHeader& header, double weight) const = 0;

  void Reserve(const SubmissionHeader& header) { updates_.Reserve(header.node); }
  // The upload is over. An upload that outlives its round leaves the node's upload of this round alone.
  void Release(const SubmissionHeader& header);
  void Accept(const SubmissionHeader& header, double weight);
  void Decline(std::string_view node, const parameters::TaskDecline& decline);
  virtual void GiveUp(std::string_view node) = 0;
  // Secure aggregation: the node has done its part of that step, which is not kTraining.
  virtual absl::Status FinishStep(std::string_view node, RoundStep step);

  // Ends the step if everyone is done, if too many have declined, or at the deadline.
  virtual RoundProgress Advance(std::int64_t now_ns) = 0;
  // O(n). Asked, and nothing has come; ascending.
  virtual std::vector<std::string> Missing() const = 0;

  // Secure aggregation: the present step with its nodes, and the shares that reconstruct a secret (valid from
  // the end of kKeys on). Null and 0 for other rounds.
  virtual std::optional<StepStarted> StepUnderWay() const { return std::nullopt; }
  virtual std::size_t threshold() const { return 0; }

  // After a restart, before what was accepted comes in again.
  void Restore(RoundStep step);

 protected:
  Round(RoundStarted started, RoundStep first, std::int64_t deadline_ns);

  virtual void Finish(std::string_view node) = 0;  // its update has been accepted
  void BeginStep(RoundStep step, std::int64_t deadline_ns);
  RoundProgress Close();
  void ForgetDeclines();
  std::size_t declined_in_step() const { return declined_in_step_; }

 private:
  RoundStarted started_;
  RoundStep step_;
  std::int64_t deadline_ns_;
  UpdateTally updates_;
  std::set<std::string, std::less<>> declined_;  // whatever the step
  std::size_t declined_in_step_ = 0;
  DeclinedTasks declines_;
};

// The kind that the run asks for. `config` must outlive it.
std::unique_ptr<Round> MakeRound(const RunConfig& config, RoundStarted started, std::int64_t deadline_ns);

}  // namespace tributary::learning
