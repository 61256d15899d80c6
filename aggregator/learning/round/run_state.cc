#include "aggregator/learning/round/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary {
namespace {

// Of one round; more than any tree of nodes has leaves. Costs the fixed point 2^-15 of its range.
constexpr std::size_t kMaxContributions = 1 << 16;

// SplitMix64 (Steele, Lea and Flood 2014).
std::uint64_t Mix(std::uint64_t state) {
  state += 0x9e3779b97f4a7c15;
  state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
  state = (state ^ state >> 27) * 0x94d049bb133111eb;
  return state ^ state >> 31;
}

}  // namespace

RunState::RunState(RunConfig config, const ModelFacts& model) : config_(std::move(config)), model_(model) {}

absl::StatusOr<RunState> RunState::Create(RunConfig config, const ModelFacts& model) {
  if (absl::Status status = Validate(config); !status.ok()) return status;
  if (model.element_count == 0) return absl::InvalidArgumentError("the model has no elements");
  return RunState(std::move(config), model);
}

double RunState::WeightOf(std::uint64_t sample_count) const {
  return config_.weighting == UpdateWeighting::kUniform ? 1 : static_cast<double>(sample_count);
}

bool RunState::Chosen(std::string_view node, std::uint32_t round) const {
  if (config_.sample_fraction >= 1) return true;
  std::uint64_t state = Mix(config_.client.seed ^ Mix(config_.privacy.noise_seed) ^ lot_secret_ ^ Mix(round));
  for (const char c : node) state = Mix(state ^ static_cast<unsigned char>(c));
  return static_cast<double>(state >> 11) * 0x1p-53 < config_.sample_fraction;
}

std::vector<AskedNode> RunState::Ready() const {
  std::vector<AskedNode> ready;
  for (const auto& [name, node] : nodes_) {
    const ParticipantStatus& status = node.status;
    if (node.ready()) {
      ready.push_back(
          {name, WeightOf(status.sample_count), status.sample_count, node.declaration.partial_sums});
    }
  }
  return ready;
}

std::optional<RoundStarted> RunState::DrawRound() {
  const std::vector<AskedNode> ready = Ready();
  if (ready.size() < std::max(config_.min_nodes, config_.quorum)) return std::nullopt;

  // Numbers whose draw misses the quorum are passed over. If none of many hits it, the next Advance tries on.
  constexpr int kDraws = 1000;
  RoundStarted round;
  for (int draw = 0; draw < kDraws && round.asked.size() < config_.quorum; ++draw) {
    round.round = ++round_;
    round.asked.clear();
    std::ranges::copy_if(ready, std::back_inserter(round.asked),
                         [&](const AskedNode& node) { return Chosen(node.node, round_); });
  }
  if (round.asked.size() < config_.quorum) return std::nullopt;

  double total_weight = 0;
  double heaviest = 0;
  for (const AskedNode& node : round.asked) {
    total_weight += node.weight;
    heaviest = std::max(heaviest, node.weight);
  }
  if (config_.asynchronous()) total_weight = config_.buffer.size * heaviest;
  const absl::StatusOr<FixedPoint> fixed_point =
      FixedPoint::For(config_.max_element, total_weight, kMaxContributions);
  // Not for a valid configuration: weights are positive and bounded.
  if (!fixed_point.ok()) return std::nullopt;
  round.fixed_point = *fixed_point;
  return round;
}

void RunState::StartRoundIfReady(std::int64_t now_ns, RunEvents& events) {
  if (open_ || paused_ || ended()) return;
  if (!config_.relayed && now_ns < rest_until_ns_) return;
  const std::int64_t deadline_ns = next_ ? next_->deadline_ns : now_ns + config_.deadline_ns;
  std::optional<RoundStarted> round = config_.relayed ? TakeParentRound(now_ns) : DrawRound();
  if (!round) return;
  ForgetUpdates();
  ForgetDeclines();
  rest_until_ns_ = 0;
  threshold_ = 0;
  open_ = round;
  Names names;
  for (const AskedNode& node : round->asked) names.insert(node.node);
  events.emplace_back(*std::move(round));
  const bool secure = config_.privacy.secure_aggregation;
  BeginStep(secure ? RoundStep::kKeys : RoundStep::kTraining, std::move(names), deadline_ns);
  if (secure) events.emplace_back(StepStarted{round_, step_, {step_nodes_.begin(), step_nodes_.end()}});
}

void RunState::BeginStep(RoundStep step, Names nodes, std::int64_t deadline_ns) {
  step_ = step;
  step_nodes_ = std::move(nodes);
  step_done_.clear();
  given_up_.clear();
  declined_in_step_ = 0;
  deadline_ns_ = deadline_ns;
}

void RunState::Keep(AcceptedUpdate update) {
  counted_.insert(update.header.node);
  for (const Contribution& each : update.header.contributors) counted_.insert(each.node);
  accepted_.push_back(std::move(update));
}

void RunState::ForgetUpdates() {
  accepted_.clear();
  counted_.clear();
  under_way_.clear();
}

std::size_t RunState::NeededInStep() const {
  if (config_.asynchronous()) return config_.quorum;
  return step_ == RoundStep::kUnmasking ? threshold_ : std::max<std::size_t>(config_.quorum, threshold_);
}

void RunState::EndStepIfDue(std::int64_t now_ns, RunEvents& events) {
  if (!open_ || step_ == RoundStep::kClosing) return;
  const std::size_t done = config_.asynchronous() ? accepted_.size() : step_done_.size();
  const std::size_t needed = NeededInStep();
  bool all_done = step_done_.size() + given_up_.size() == step_nodes_.size();
  if (config_.asynchronous()) all_done = done >= config_.buffer.size;
  if (step_ == RoundStep::kUnmasking) all_done = done >= needed;  // more shares would not tell more
  const bool out_of_reach = !config_.asynchronous() && step_nodes_.size() - declined_in_step_ < needed;
  if (!all_done && !out_of_reach && now_ns < deadline_ns_) return;
  if (done < needed) {
    if (config_.asynchronous()) {
      deadline_ns_ = now_ns + config_.deadline_ns;  // nothing is lost by waiting on
      given_up_.clear();                            // what kept them may have passed
      ForgetDeclines();
    } else {
      if (declined_in_step_ > 0 && now_ns < deadline_ns_) {
        rest_until_ns_ = std::min(deadline_ns_, now_ns + rest_ns_);
        rest_ns_ = std::min(2 * rest_ns_, kMostRestNs);
      }
      Fail(WhyTooFew(done, needed), events);
    }
    return;
  }
  Names next = step_done_;
  const std::int64_t deadline_ns = now_ns + config_.deadline_ns;
  switch (step_) {
    case RoundStep::kKeys:
      threshold_ = MaskingThreshold(next.size());
      BeginStep(RoundStep::kShares, std::move(next), deadline_ns);
      break;
    case RoundStep::kShares:
      BeginStep(RoundStep::kTraining, std::move(next), deadline_ns);
      break;
    case RoundStep::kTraining:
      if (!config_.privacy.secure_aggregation) return CloseRound(events);
      under_way_.clear();
      BeginStep(RoundStep::kUnmasking, std::move(next), deadline_ns);
      break;
    case RoundStep::kUnmasking:
    case RoundStep::kClosing:
      return CloseRound(events);
  }
  events.emplace_back(StepStarted{round_, step_, {step_nodes_.begin(), step_nodes_.end()}});
}

std::vector<std::string> RunState::CountDropped() {
  std::vector<std::string> dropped;
  if (config_.asynchronous()) return dropped;
  for (const AskedNode& asked : open_->asked) {
    const bool came = std::ranges::any_of(
        accepted_, [&](const AcceptedUpdate& update) { return update.header.node == asked.node; });
    if (came) continue;
    dropped.push_back(asked.node);
    if (const auto node = nodes_.find(asked.node); node != nodes_.end()) ++node->second.status.dropped_rounds;
  }
  return dropped;
}

void RunState::CloseRound(RunEvents& events) {
  RoundClosed closed;
  closed.round = round_;
  for (const AcceptedUpdate& update : accepted_) closed.total_weight += update.weight;
  closed.dropped = CountDropped();
  step_ = RoundStep::kClosing;
  deadline_ns_ = kNoDeadline;
  under_way_.clear();
  events.emplace_back(std::move(closed));
}

void RunState::Fail(std::string_view reason, RunEvents& events) {
  events.emplace_back(RoundFailed{round_, std::string(reason), CountDropped(), declines_});
  open_.reset();
  ForgetUpdates();
  deadline_ns_ = kNoDeadline;
}

std::int64_t RunState::Advance(std::int64_t now_ns, RunEvents& events) {
  if (restored_) {
    restored_ = false;
    if (open_ && step_ == RoundStep::kClosing) {
      CloseRound(events);
    } else if (open_ && config_.privacy.secure_aggregation) {
      Fail("the aggregator was restarted and does not keep keys", events);
    } else if (open_) {
      deadline_ns_ = now_ns + config_.deadline_ns;
    }
  }
  if (!stopped_) EndStepIfDue(now_ns, events);
  StartRoundIfReady(now_ns, events);
  if (next_) return gathered_ns_;
  return !open_ && now_ns < rest_until_ns_ ? rest_until_ns_ : deadline_ns();
}

absl::Status RunState::FinishStep(std::string_view node, std::uint32_t round, RoundStep step,
                                  std::int64_t now_ns, RunEvents& events) {
  if (!open_ || round != round_ || step != step_ || step == RoundStep::kTraining || stopped_) {
    return absl::FailedPreconditionError(fmt::format("round {} is not at that step", round));
  }
  if (!step_nodes_.contains(node)) {
    return absl::FailedPreconditionError(fmt::format("{} was not asked for that in round {}", node, round));
  }
  step_done_.emplace(node);
  EndStepIfDue(now_ns, events);
  StartRoundIfReady(now_ns, events);
  return absl::OkStatus();
}

void RunState::FailRound(std::uint32_t round, std::string_view reason, std::int64_t now_ns,
                         RunEvents& events) {
  if (next_ && next_->round == round) next_.reset();
  if (!open_ || round != round_) return;
  Fail(reason, events);
  StartRoundIfReady(now_ns, events);
}

absl::Status RunState::Commit(std::uint32_t round, const Sha256& model, std::int64_t now_ns,
                              RunEvents& events) {
  if (!open_ || round != round_ || step_ != RoundStep::kClosing) {
    return absl::FailedPreconditionError(fmt::format("round {} is not closed", round));
  }
  if (config_.asynchronous()) {
    earlier_models_.push_back(model_.model);
    if (earlier_models_.size() > config_.buffer.max_staleness) earlier_models_.pop_front();
  }
  model_.model = model;
  rest_ns_ = kFirstRestNs;
  ++committed_;
  open_.reset();
  ForgetUpdates();
  if (finished() && !stopped_) events.emplace_back(RunEnded{true});
  StartRoundIfReady(now_ns, events);
  return absl::OkStatus();
}

void RunState::ReplaceModel(const Sha256& model, std::int64_t now_ns, RunEvents& events) {
  if (open_) Fail("the model was rolled back", events);
  model_.model = model;
  earlier_models_.clear();
  StartRoundIfReady(now_ns, events);
}

absl::Status RunState::Pause(RunEvents& events) {
  if (ended()) return absl::FailedPreconditionError("the run has ended");
  if (!paused_) events.emplace_back(RunPaused{});
  paused_ = true;
  return absl::OkStatus();
}

absl::Status RunState::Resume(std::int64_t now_ns, RunEvents& events) {
  if (ended()) return absl::FailedPreconditionError("the run has ended");
  if (paused_) events.emplace_back(RunResumed{});
  paused_ = false;
  StartRoundIfReady(now_ns, events);
  return absl::OkStatus();
}

absl::Status RunState::Stop(RunEvents& events) {
  if (stopped_) return absl::OkStatus();
  if (ended()) return absl::FailedPreconditionError("the run has ended");
  stopped_ = true;
  next_.reset();
  // A closed round is complete and may still be committed.
  if (open_ && step_ != RoundStep::kClosing) Fail("the run was stopped", events);
  events.emplace_back(RunEnded{false});
  return absl::OkStatus();
}

}  // namespace tributary
