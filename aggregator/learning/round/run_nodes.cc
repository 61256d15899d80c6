// Of RunState: who takes part, what each is told, and what a restart needs.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "aggregator/learning/round/run_state.h"

namespace tributary {
namespace {

constexpr std::size_t kMaxNodeName = 128;

template <class Range, class Value>
bool Lacks(const Range& range, const Value& value) {
  return std::ranges::find(range, value) == range.end();
}

}  // namespace

absl::Status RunState::Join(const NodeDeclaration& declaration, std::int64_t now_ns, RunEvents& events) {
  if (declaration.node.empty() || declaration.node.size() > kMaxNodeName) {
    return absl::InvalidArgumentError(fmt::format("a node's name has 1 to {} bytes", kMaxNodeName));
  }
  if (declaration.sample_count > config_.max_samples) {
    return absl::InvalidArgumentError(
        fmt::format("{} samples, this run admits at most {}", declaration.sample_count, config_.max_samples));
  }
  if (declaration.schema && *declaration.schema != model_.schema) {
    return absl::FailedPreconditionError(fmt::format("the node's model has schema {}, this run's has {}",
                                                     HexOf(*declaration.schema), HexOf(model_.schema)));
  }
  if (!declaration.workloads.empty() && Lacks(declaration.workloads, config_.client.workload)) {
    return absl::FailedPreconditionError(
        fmt::format("this run trains {}, which the node cannot", config_.client.workload));
  }
  const bool secure = config_.privacy.secure_aggregation;
  const UpdateEncoding encoding = secure ? UpdateEncoding::kFixed32 : config_.client.encoding;
  if (!declaration.encodings.empty() && Lacks(declaration.encodings, encoding)) {
    return absl::FailedPreconditionError(fmt::format(
        "this run takes updates as {}, which the node cannot send", UpdateEncodingName(encoding)));
  }
  if (secure && !declaration.secure_aggregation) {
    return absl::FailedPreconditionError("this run masks updates, which the node cannot");
  }
  if (declaration.partial_sums && !config_.WhyNoPartialSums().empty()) {
    return absl::FailedPreconditionError(
        fmt::format("this run takes no partial sums: {}", config_.WhyNoPartialSums()));
  }
  const auto known = nodes_.find(declaration.node);
  if (known == nodes_.end() && nodes_.size() >= config_.max_nodes) {
    return absl::ResourceExhaustedError(fmt::format("{} nodes have joined, no more may", config_.max_nodes));
  }
  Node& node = nodes_[declaration.node];
  // As another process, or with other means, it may be able to.
  if (node.declaration != declaration && !node.left_out) node.status.cannot_train.clear();
  node.status.node = declaration.node;
  node.status.connected = true;
  node.status.sample_count = declaration.sample_count;
  node.declaration = declaration;
  StartRoundIfReady(now_ns, events);
  return absl::OkStatus();
}

void RunState::Leave(std::string_view node, std::string_view boot_id, std::int64_t now_ns,
                     RunEvents& events) {
  const auto known = nodes_.find(node);
  if (known == nodes_.end() || known->second.declaration.boot_id != boot_id) return;
  known->second.status.connected = false;
  EndStepIfDue(now_ns, events);
}

void RunState::LeaveOut(std::string_view node, std::string reason) {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  known->second.status.last_refusal = reason;
  known->second.status.cannot_train = std::move(reason);
  known->second.left_out = true;
  if (open_ && step_nodes_.contains(node)) given_up_.emplace(node);
}

NodeTask RunState::TaskOf(std::string_view node) const {
  NodeTask task;
  if (ended()) {
    task.kind = TaskKind::kEnded;
    task.reason = stopped_ ? "the run was stopped" : "all rounds are done";
    return task;
  }
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) {
    task.reason = "the node has not joined";
    return task;
  }
  const ParticipantStatus& status = known->second.status;
  if (!status.cannot_train.empty()) {
    task.reason = known->second.left_out
                      ? status.cannot_train
                      : fmt::format("this node cannot train in this run: {}", status.cannot_train);
    return task;
  }
  const bool asked = config_.asynchronous() ? status.sample_count > 0 && status.last_round < round_
                                            : step_nodes_.contains(node) && !step_done_.contains(node);
  if (!open_ || step_ == RoundStep::kClosing || !asked || given_up_.contains(node)) {
    task.reason =
        status.sample_count == 0 ? "the node has not said how many samples it has" : StatusMessage();
    return task;
  }
  static constexpr std::array<TaskKind, 4> kTasks = {TaskKind::kAdvertiseKeys, TaskKind::kShareKeys,
                                                     TaskKind::kTrain, TaskKind::kUnmask};
  task.kind = kTasks[static_cast<std::size_t>(step_)];
  task.round = round_;
  task.deadline_ns = deadline_ns_;
  return task;
}

RunPhase RunState::phase() const {
  if (finished()) return RunPhase::kFinished;
  if (stopped_) return RunPhase::kStopped;
  if (paused_) return RunPhase::kPaused;
  return open_ ? RunPhase::kRunning : RunPhase::kWaiting;
}

std::string RunState::StatusMessage() const {
  if (finished()) return "all rounds are done";
  if (stopped_) return "the run was stopped";
  if (open_ && step_ == RoundStep::kClosing) return fmt::format("round {} is being averaged", round_);
  if (open_) return fmt::format("round {} is under way", round_);
  if (paused_) return "paused";
  if (config_.relayed && !next_) return "the parent asks for no round";
  if (next_) return fmt::format("round {} waits for {} samples", next_->round, next_->sample_count);
  const auto ready = std::ranges::count_if(nodes_, [](const auto& entry) { return entry.second.ready(); });
  const auto unable = std::ranges::count_if(nodes_, [](const auto& entry) {
    return entry.second.status.connected && !entry.second.status.cannot_train.empty();
  });
  const std::uint32_t required = std::max(config_.min_nodes, config_.quorum);
  std::string message = fmt::format("{} of {} required nodes connected", ready, required);
  if (unable > 0) message = fmt::format("{}, {} more cannot train", message, unable);
  if (rest_until_ns_ > 0 && ready >= required) {
    message = fmt::format("round {} came to nothing; another one follows in seconds", round_);
  }
  return message;
}

std::vector<ParticipantStatus> RunState::participants() const {
  std::vector<ParticipantStatus> result;
  for (const auto& [name, node] : nodes_) result.push_back(node.status);
  return result;
}

RunSnapshot RunState::Snapshot() const {
  RunSnapshot snapshot;
  snapshot.round = round_;
  snapshot.committed = committed_;
  snapshot.paused = paused_;
  snapshot.stopped = stopped_;
  snapshot.open = open_;
  snapshot.step = step_;
  snapshot.accepted = accepted_;
  snapshot.closed = open_ && step_ == RoundStep::kClosing;
  snapshot.earlier_models.assign(earlier_models_.begin(), earlier_models_.end());
  snapshot.participants = participants();
  return snapshot;
}

absl::StatusOr<RunState> RunState::Restore(RunConfig config, const ModelFacts& model,
                                           const RunSnapshot& snapshot) {
  absl::StatusOr<RunState> state = Create(std::move(config), model);
  if (!state.ok()) return state;
  if (snapshot.open && snapshot.open->round != snapshot.round) {
    return absl::DataLossError(
        fmt::format("round {} is open, the last one started is {}", snapshot.open->round, snapshot.round));
  }
  state->round_ = snapshot.round;
  state->committed_ = snapshot.committed;
  state->paused_ = snapshot.paused;
  state->stopped_ = snapshot.stopped;
  state->open_ = snapshot.open;
  state->step_ = snapshot.closed ? RoundStep::kClosing : snapshot.step;
  state->earlier_models_.assign(snapshot.earlier_models.begin(), snapshot.earlier_models.end());
  state->restored_ = true;
  for (const ParticipantStatus& status : snapshot.participants) {
    Node& node = state->nodes_[status.node];
    node.status = status;
    node.status.connected = false;
  }
  if (!snapshot.open) return state;
  for (const AskedNode& asked : snapshot.open->asked) {
    state->step_nodes_.insert(asked.node);
    state->nodes_[asked.node].declaration.partial_sums = asked.partial_sums;
    // Known even where the snapshot lacks it, so that its submission is recognised.
    ParticipantStatus& status = state->nodes_[asked.node].status;
    status.node = asked.node;
    status.sample_count = asked.sample_count;
  }
  for (const AcceptedUpdate& update : snapshot.accepted) {
    state->Keep(update);
    if (!state->step_done_.insert(update.header.node).second) {
      return absl::DataLossError(
          fmt::format("two updates of {} in round {}", update.header.node, snapshot.round));
    }
    state->nodes_[update.header.node].status.last_round = update.header.round;
    state->nodes_[update.header.node].status.node = update.header.node;
  }
  return state;
}

}  // namespace tributary
