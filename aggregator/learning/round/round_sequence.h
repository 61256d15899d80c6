// The rounds of a run, one after the other: starts the next one, lets it go on and ends it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/learning/round/roster.h"
#include "aggregator/learning/round/round.h"
#include "aggregator/learning/round/round_source.h"
#include "core/learning/run_config.h"
#include "core/parameters/tensor.h"

namespace tributary::learning {

struct ModelFacts {
  parameters::Sha256 schema{};
  parameters::Sha256 model{};  // of the present parameters
  std::uint64_t element_count = 0;
};

// What an operation has changed. A caller stores it before it tells anybody.
struct RunOutcome {
  // A round that changed nothing in the model: what was accepted is void, and another one follows with the
  // next number. Its line of the history, with the reason.
  std::optional<v1::Round> failed;
  // The following are of the round under way, in the order in which a caller has to act.
  bool started = false;  // the sum starts afresh
  bool step = false;     // secure aggregation: it has gone on to the next step
  bool closed = false;   // it is complete: combine what was accepted, step the model, then RunRules::Commit
  bool state_changed = false;  // paused, resumed, stopped, finished, another model

  bool empty() const { return !failed && !started && !step && !closed && !state_changed; }
};

// The model that a run trains, and for FedBuff the versions before it. One thread at a time.
class ModelVersions {
 public:
  // Keeps the last `earlier` versions before the present one.
  ModelVersions(const ModelFacts& present, std::size_t earlier) : present_(present), limit_(earlier) {}

  const ModelFacts& present() const { return present_; }
  std::size_t earlier() const { return earlier_.size(); }
  // The version that many steps before the present one; at most earlier().
  const parameters::Sha256& Before(std::size_t steps) const {
    return steps == 0 ? present_.model : earlier_[earlier_.size() - steps];
  }

  // A round has made the model go on.
  void GoOn(const parameters::Sha256& model) {
    earlier_.push_back(present_.model);
    if (earlier_.size() > limit_) earlier_.pop_front();
    present_.model = model;
  }
  // The run goes on from another model: updates to the earlier versions are void.
  void Replace(const parameters::Sha256& model) {
    earlier_.clear();
    present_.model = model;
  }

  // Oldest first.
  void Store(v1::StoredRun& run) const {
    for (const parameters::Sha256& model : earlier_) run.add_earlier_models(parameters::BytesOf(model));
  }
  absl::Status Restore(const v1::StoredRun& run);  // DataLoss: not what Store has written

 private:
  ModelFacts present_;
  std::size_t limit_;
  std::deque<parameters::Sha256> earlier_;  // oldest first
};

// Owns the round under way and the source of the next one. What changes is added to `outcome`, and to the
// roster's counts of dropped rounds. One thread at a time.
class RoundSequence {
 public:
  // `config` must outlive it. `lots`: of DrawnRounds.
  RoundSequence(const RunConfig& config, std::uint64_t lots);

  Round* under_way() { return round_.get(); }  // null: none
  const Round* under_way() const { return round_.get(); }
  bool closed() const { return round_ && round_->step() == RoundStep::kClosing; }
  std::uint32_t last() const { return last_; }  // the last number that was used
  ParentRounds* parent() { return parent_; }    // null: the rounds are the aggregator's own
  const ParentRounds* parent() const { return parent_; }

  // Whether the round under way may take that submission, and with which weight.
  Admission Judge(const v1::UpdateHeader& header, const Roster::Node& sender, const ModelVersions& versions,
                  std::int64_t now_ns) const;

  // Without effect while a round is under way.
  void StartIfReady(const Roster& roster, std::int64_t now_ns, RunOutcome& outcome);
  // Returns whether the tasks have changed, though the outcome may be empty: a deadline has moved.
  bool EndStepIfDue(Roster& roster, std::int64_t now_ns, RunOutcome& outcome);
  void Fail(std::string_view reason, Roster& roster, RunOutcome& outcome);  // there must be a round
  // By the fault of its nodes: the next one rests if the deadline has not passed.
  void FailEarly(std::string_view reason, Roster& roster, std::int64_t now_ns, RunOutcome& outcome);
  void Commit();  // it must be closed

  // When a round starts or a step ends, though nobody does anything; kNoDeadline: never.
  std::int64_t next_ns(std::int64_t now_ns) const;
  // What the next round waits for.
  std::string StatusMessage(const Roster& roster) const { return source_->StatusMessage(roster, last_); }

  void RestoreLast(std::uint32_t last) { last_ = last; }
  // DataLoss: the round contradicts itself. `accepted`: in the order of acceptance.
  absl::Status RestoreRound(const v1::StoredRound& open, std::span<const v1::StoredUpdate> accepted,
                            Roster& roster);
  // A closed round is closed again, one whose keys are lost fails, another one gets a new deadline.
  void GoOnAfterRestart(Roster& roster, std::int64_t now_ns, RunOutcome& outcome);

 private:
  void RestAfterFailure(std::int64_t deadline_ns, std::int64_t now_ns);
  void CountDropped(Roster& roster) const;

  const RunConfig* config_;
  std::unique_ptr<RoundSource> source_;
  ParentRounds* parent_ = nullptr;  // the source, of a parent's rounds
  std::unique_ptr<Round> round_;
  std::uint32_t last_ = 0;
};

}  // namespace tributary::learning
