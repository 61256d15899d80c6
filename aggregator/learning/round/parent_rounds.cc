#include "aggregator/learning/round/parent_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "aggregator/learning/round/round.h"

namespace tributary::learning {
namespace {

// An attempt to fit the nodes' samples costs O(n), and nodes join by the thousand after a restart.
constexpr std::int64_t kRetryNs = 100'000'000;

}  // namespace

void ParentRounds::Begin(const ParentRound& round, std::int64_t now_ns) {
  next_ = round;
  gathered_ns_ = now_ns + std::min(kGatherNs, (round.deadline_ns - now_ns) / 2);
  retry_ns_ = now_ns;
}

void ParentRounds::Forget(std::optional<std::uint32_t> round) {
  if (next_ && (!round || next_->round == *round)) next_.reset();
}

std::optional<RoundPlan> ParentRounds::Next(const Roster& roster, std::uint32_t& last_round,
                                            std::int64_t now_ns) {
  if (!next_) return std::nullopt;
  // After a restart the nodes come back one after the other.
  const bool in_time = now_ns < gathered_ns_;
  if (in_time && (now_ns < retry_ns_ || roster.ready_samples() < next_->sample_count)) return std::nullopt;
  RoundPlan plan{{next_->round, {}, next_->fixed_point}, next_->deadline_ns};
  std::uint64_t left = next_->sample_count;
  for (AskedNode& node : roster.Ready(weighting_)) {
    if (node.sample_count > left) continue;
    left -= node.sample_count;
    plan.started.asked.push_back(std::move(node));
  }
  if (left > 0 && in_time) {
    retry_ns_ = std::min(gathered_ns_, now_ns + kRetryNs);
    return std::nullopt;
  }
  next_.reset();
  if (plan.started.asked.empty()) return std::nullopt;
  last_round = plan.started.round;
  return plan;
}

std::int64_t ParentRounds::next_ns(std::int64_t now_ns) const {
  if (!next_) return kNoDeadline;
  return now_ns < retry_ns_ ? retry_ns_ : gathered_ns_;
}

std::string ParentRounds::StatusMessage(const Roster& /*roster*/, std::uint32_t /*last_round*/) const {
  if (!next_) return "the parent asks for no round";
  return fmt::format("round {} waits for {} samples", next_->round, next_->sample_count);
}

}  // namespace tributary::learning
