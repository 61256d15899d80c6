#include "aggregator/learning/round/round_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary::learning {
namespace {

// Contributions to one round: more than any tree of nodes has leaves. They cost the fixed point 2^-15 of its
// range.
constexpr std::size_t kMaxContributions = 1 << 16;

// A number whose draw misses the quorum is passed over, up to so many in a row.
constexpr int kDraws = 1000;

// An attempt to fit the nodes' samples costs O(n), and nodes join by the thousand after a restart.
constexpr std::int64_t kRetryNs = 100'000'000;

constexpr std::int64_t kMostRestNs = 60'000'000'000;

std::uint64_t Mix(std::uint64_t state) { return nn::RandomStream(state).Bits(); }

void SetFixedPoint(const parameters::FixedPoint& fixed_point, v1::StoredRound& round) {
  round.set_fraction_bits(fixed_point.fraction_bits);
  round.set_bound(fixed_point.bound);
  round.set_word_bits(static_cast<std::uint32_t>(fixed_point.word_bits));
}

// The scale follows from what is declared: where the heaviest nodes never answer, the others' sum has lost
// bits. Up to this share 32 bits bear it.
constexpr double kUnequal = 16;

template <class Nodes>
std::vector<double> WeightsOf(const Nodes& nodes) {
  std::vector<double> weights(static_cast<std::size_t>(nodes.size()));
  std::ranges::transform(nodes, weights.begin(), &v1::AskedNode::weight);
  return weights;
}

// Words have 64 bits if the lightest updates that could end the round may weigh so little. Masked words have
// 32 always. Not an error for a valid configuration, whose weights are positive and bounded.
absl::StatusOr<parameters::FixedPoint> FixedPointFor(const RunConfig& config, const v1::StoredRound& round) {
  std::vector<double> weights = WeightsOf(round.asked());
  std::ranges::sort(weights);
  double total_weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  double least = std::accumulate(weights.begin(), weights.begin() + config.quorum, 0.0);
  if (config.asynchronous()) {
    total_weight = config.buffer.size * weights.back();
    least = config.quorum * weights.front();
  }
  const bool wide = !config.privacy.secure_aggregation && least * kUnequal < total_weight;
  return parameters::FixedPoint::For(config.max_element, total_weight, kMaxContributions, wide ? 64 : 32);
}

// Whose weight would drown the others in the 32-bit words of a masked sum: nobody sees a single update there,
// and the words' width is that of the masks. Returns how many were left out.
std::size_t LeaveOutHeavy(std::vector<v1::AskedNode>& nodes) {
  if (nodes.empty()) return 0;
  std::vector<double> weights = WeightsOf(nodes);
  const auto middle = weights.begin() + static_cast<std::ptrdiff_t>((weights.size() - 1) / 2);
  std::ranges::nth_element(weights, middle);
  return std::erase_if(
      nodes, [most = kUnequal * *middle](const v1::AskedNode& node) { return node.weight() > most; });
}

}  // namespace

void DrawnRounds::Rest(std::int64_t deadline_ns, std::int64_t now_ns) {
  ++failed_;
  rest_ns_ = std::min(deadline_ns - now_ns, next_rest_ns_);
  rest_until_ns_ = now_ns + rest_ns_;
  next_rest_ns_ = std::min(2 * next_rest_ns_, kMostRestNs);
}

void DrawnRounds::EndRests() {
  failed_ = 0;
  next_rest_ns_ = kFirstRestNs;
}

bool DrawnRounds::Chosen(std::string_view node, std::uint32_t round) const {
  if (config_.sample_fraction >= 1) return true;
  std::uint64_t state = Mix(config_.client.seed() ^ Mix(config_.privacy.noise_seed) ^ lots_ ^ Mix(round));
  for (const char c : node) state = Mix(state ^ static_cast<unsigned char>(c));
  return static_cast<double>(state >> 11) * 0x1p-53 < config_.sample_fraction;
}

std::optional<RoundPlan> DrawnRounds::Next(const Roster& roster, std::uint32_t& last_round,
                                           std::int64_t now_ns) {
  if (now_ns < rest_until_ns_ || roster.ready() < required()) return std::nullopt;
  std::vector<v1::AskedNode> ready = roster.Ready(config_.weighting);
  too_heavy_ = config_.privacy.secure_aggregation ? LeaveOutHeavy(ready) : 0;
  RoundPlan plan{.deadline_ns = now_ns + config_.deadline_ns};
  auto& asked = *plan.started.mutable_asked();
  const auto quorum = static_cast<int>(config_.quorum);
  for (int draw = 0; draw < kDraws && asked.size() < quorum; ++draw) {
    plan.round = ++last_round;
    asked.Clear();
    for (const v1::AskedNode& node : ready) {
      if (Chosen(node.node(), plan.round)) *asked.Add() = node;
    }
  }
  if (asked.size() < quorum) {
    rest_ns_ = std::min(kFirstRestNs, config_.deadline_ns);
    rest_until_ns_ = now_ns + rest_ns_;
    return std::nullopt;
  }
  const absl::StatusOr<parameters::FixedPoint> fixed_point = FixedPointFor(config_, plan.started);
  if (!fixed_point.ok()) return std::nullopt;
  SetFixedPoint(*fixed_point, plan.started);
  rest_until_ns_ = 0;
  return plan;
}

std::int64_t DrawnRounds::next_ns(std::int64_t now_ns) const {
  return now_ns < rest_until_ns_ ? rest_until_ns_ : kNoDeadline;
}

std::string DrawnRounds::StatusMessage(const Roster& roster, std::uint32_t last_round) const {
  if (rest_until_ns_ > 0 && roster.ready() >= required() + too_heavy_) {
    return fmt::format("round {} came to nothing{}; another one follows {:.3g} s after it", last_round,
                       failed_ > 1 ? fmt::format(", {} rounds in a row", failed_) : "",
                       1e-9 * static_cast<double>(rest_ns_));
  }
  std::string message = fmt::format("{} of {} required nodes connected", roster.ready(), required());
  if (roster.unable() > 0) message += fmt::format(", {} more cannot train", roster.unable());
  if (too_heavy_ > 0) {
    message += fmt::format(
        ", {} of them declare over {} times the samples that half of the nodes have and are not asked: a "
        "masked sum would lose the others",
        too_heavy_, kUnequal);
  }
  return message;
}

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
  RoundPlan plan{.round = next_->round, .deadline_ns = next_->deadline_ns};
  SetFixedPoint(next_->fixed_point, plan.started);
  plan.started.set_failed_rounds(next_->failed_rounds);
  std::uint64_t left = next_->sample_count;
  for (v1::AskedNode& node : roster.Ready(weighting_)) {
    if (node.sample_count() > left) continue;
    left -= node.sample_count();
    *plan.started.add_asked() = std::move(node);
  }
  if (left > 0 && in_time) {
    retry_ns_ = std::min(gathered_ns_, now_ns + kRetryNs);
    return std::nullopt;
  }
  next_.reset();
  if (plan.started.asked().empty()) return std::nullopt;
  last_round = plan.round;
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
