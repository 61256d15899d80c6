#include "aggregator/learning/round/run_state.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace tributary::learning {
namespace {

// A restart shows so many nodes before they come back: what is stored with each step of a round stays small.
constexpr int kStoredNodes = 1'000;

}  // namespace

RunState::RunState(RunConfig settings, const ModelFacts& model, std::uint64_t lots)
    : config(std::move(settings)),
      versions(model, config.asynchronous() ? config.buffer.max_staleness : 0),
      rounds(config, lots) {
  roster.changes().AddEveryone();
}

v1::StoredRun RunState::Snapshot() const {
  v1::StoredRun stored;
  stored.set_round(rounds.last());
  stored.set_committed(committed);
  stored.set_paused(paused);
  stored.set_stopped(stopped);
  stored.set_parent_end(parent_end.reason);
  stored.set_parent_finished(parent_end.finished);
  versions.Store(stored);
  for (const auto& [name, node] : roster.nodes()) {
    if (stored.nodes_size() == kStoredNodes) break;
    *stored.add_nodes() = node.status;
  }
  if (config.asynchronous()) {
    // What is older is refused as stale.
    for (const auto& [name, node] : roster.nodes()) {
      const std::uint32_t round = node.status.last_round();
      if (round > 0 && round + config.buffer.max_staleness >= rounds.last()) {
        (*stored.mutable_accepted_rounds())[name] = round;
      }
    }
  }
  if (const Round* round = under_way()) {
    *stored.mutable_open() = round->started();
    stored.mutable_open()->set_step(static_cast<std::uint32_t>(round->step()));
    stored.mutable_open()->set_closed(closed());
  }
  return stored;
}

NodeTask RunState::TaskOf(std::string_view node) const {
  if (ended()) return {.kind = TaskKind::kEnded, .reason = StatusMessage()};
  const Roster::Node* known = roster.Find(node);
  if (known == nullptr) {
    return {.reason =
                fmt::format("this node has no place: it has not said how many samples it has, and the run "
                            "has the {} nodes that it may have",
                            config.max_nodes)};
  }
  const v1::Participant& status = known->status;
  if (known->left_out) return {.reason = status.cannot_train()};
  if (!status.cannot_train().empty()) {
    return {.reason = fmt::format("this node cannot train in this run: {}", status.cannot_train())};
  }
  if (const Round* round = under_way()) {
    const std::optional<TaskKind> kind = round->TaskFor(status);
    if (kind) return {*kind, round->number(), round->deadline_ns()};
  }
  if (status.sample_count() == 0) return {.reason = "the node has not said how many samples it has"};
  return {.reason = StatusMessage()};
}

bool RunState::Needs(const v1::Participant& node) const {
  const Round* round = under_way();
  if (round != nullptr && (round->Asked(node.node()) != nullptr || round->updates().Reserved(node.node()))) {
    return true;
  }
  // It may send its last update again: what is older is refused as stale.
  const std::uint32_t staleness = config.asynchronous() ? config.buffer.max_staleness : 0;
  return node.last_round() > 0 && node.last_round() + staleness >= rounds.last();
}

bool RunState::CannotTrain(std::string_view node) const {
  const Roster::Node* known = roster.Find(node);
  return known != nullptr && !known->status.cannot_train().empty();
}

v1::RunState RunState::phase() const {
  if (finished() || (stopped && parent_end.finished)) return v1::RUN_STATE_FINISHED;
  if (stopped) return v1::RUN_STATE_STOPPED;
  if (paused) return v1::RUN_STATE_PAUSED;
  return under_way() != nullptr ? v1::RUN_STATE_RUNNING : v1::RUN_STATE_WAITING;
}

std::string RunState::StatusMessage() const {
  if (finished()) return "all rounds are done";
  if (stopped) return parent_end.reason.empty() ? "the run was stopped" : parent_end.reason;
  if (closed()) return fmt::format("round {} is being averaged", round());
  if (under_way() != nullptr) return fmt::format("round {} is under way", round());
  if (paused) return "paused";
  return rounds.StatusMessage(roster);
}

void RunState::StartRoundIfReady(std::int64_t now_ns, RunOutcome& outcome) {
  if (!paused && !ended()) rounds.StartIfReady(roster, now_ns, outcome);
  if (!outcome.empty()) roster.changes().AddEveryone();
}

void RunState::EndStepIfDue(std::int64_t now_ns, RunOutcome& outcome) {
  if (rounds.EndStepIfDue(roster, now_ns, outcome)) roster.changes().AddEveryone();
}

}  // namespace tributary::learning
