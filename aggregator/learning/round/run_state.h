// What the rules of a run know: its nodes, its rounds, its model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "aggregator/learning/round/roster.h"
#include "aggregator/learning/round/round.h"
#include "aggregator/learning/round/round_sequence.h"
#include "core/learning/run_config.h"

namespace tributary::learning {

// What a node is told to do.
struct NodeTask {
  TaskKind kind = TaskKind::kWait;
  std::uint32_t round = 0;
  std::int64_t deadline_ns = 0;  // steady
  std::string reason = {};       // of kWait and kEnded

  friend bool operator==(const NodeTask&, const NodeTask&) = default;
};

// Why a parent's run is over.
struct ParentEnd {
  std::string reason;
  bool finished = false;  // all its rounds were committed
};

// RunRules owns and changes it, Submissions changes it too; all others only look. One thread at a time.
struct RunState {
  // `lots`: RunRules::Restore.
  RunState(RunConfig settings, const ModelFacts& model, std::uint64_t lots);
  RunState(const RunState&) = delete;  // `rounds` refers to `config`
  RunState& operator=(const RunState&) = delete;

  // The reason of kWait is exact when something changed for that node, and may be out of date later.
  NodeTask TaskOf(std::string_view node) const;
  // Whether a round under way or the last one would not be the same if the roster forgot that node.
  bool Needs(const v1::Participant& node) const;
  // Whether it is here and is not asked: it declined for good, or was left out.
  bool CannotTrain(std::string_view node) const;

  v1::RunState phase() const;         // RunAccount has failures
  std::string StatusMessage() const;  // what it waits for
  bool finished() const { return !config.relayed && committed >= config.rounds; }
  bool ended() const { return stopped || finished(); }
  const ModelFacts& model() const { return versions.present(); }

  const Round* under_way() const { return rounds.under_way(); }  // null: none
  // The following are of the round under way.
  std::uint32_t round() const { return under_way() ? under_way()->number() : 0; }  // 0: none
  std::int64_t deadline_ns() const { return under_way() ? under_way()->deadline_ns() : kNoDeadline; }
  bool closed() const { return rounds.closed(); }  // RunRules::Commit is next
  // One is under way, or waits for its nodes.
  bool begun() const { return under_way() != nullptr || (rounds.parent() && rounds.parent()->gathering()); }

  // All that a restart needs, but for the accepted updates of the round under way: those have records of
  // their own.
  v1::StoredRun Snapshot() const;

  // Each adds to `outcome` what has changed, and notes in the roster whom that concerns.
  void StartRoundIfReady(std::int64_t now_ns, RunOutcome& outcome);
  void EndStepIfDue(std::int64_t now_ns, RunOutcome& outcome);

  const RunConfig config;
  ModelVersions versions;
  Roster roster;
  RoundSequence rounds;
  std::uint32_t committed = 0;  // rounds
  bool paused = false;
  bool stopped = false;
  ParentEnd parent_end = {};  // of a relayed run that is stopped
};

}  // namespace tributary::learning
