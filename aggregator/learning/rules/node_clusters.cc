#include "aggregator/learning/rules/node_clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "aggregator/learning/rules/node_division.h"

namespace tributary::learning {
namespace {

// So many rounds count, while the model moves on: the mean of the first ones, later an exponential one.
constexpr unsigned kRoundsOfMean = 20;
// A node that is away for longer is not judged: so many rounds, or times its usual pause.
constexpr std::uint64_t kRoundsAway = 20, kPausesAway = 5;

// In doubles, where the square of no float is zero.
double Length(const UpdateSketch& sketch) {
  return std::sqrt(std::transform_reduce(sketch.begin(), sketch.end(), 0.0, std::plus<>(),
                                         [](double value) { return value * value; }));
}

}  // namespace

NodeClusters::NodeClusters(std::size_t most, std::vector<parameters::StatisticRange> statistics)
    : most_(most), statistics_(std::move(statistics)) {}

void NodeClusters::Add(std::string_view node, std::size_t first, std::span<const float> values) {
  auto found = coming_.find(node);
  if (found == coming_.end()) {
    if (coming_.size() == kMaxNodes) return;
    found = coming_.emplace(node, UpdateSketch{}).first;
  }
  std::size_t next = first;
  const std::size_t end = first + values.size();
  const auto take = [&](std::size_t until) {
    if (until > next) AddToSketch(next, values.subspan(next - first, until - next), found->second);
  };
  for (const parameters::StatisticRange& range : statistics_) {
    if (range.first + range.count <= next) continue;
    if (range.first >= end) break;
    take(range.first);
    next = std::min(range.first + range.count, end);
  }
  take(end);
}

void NodeClusters::EndRound() {
  std::erase_if(coming_, [](const auto& each) { return !(Length(each.second) > 0); });
  UpdateSketch mean = {};
  for (auto& [node, direction] : coming_) {
    const double length = Length(direction);
    for (std::size_t i = 0; i < kSketchSize; ++i) {
      direction[i] = static_cast<float>(direction[i] / length);
      mean[i] += direction[i] / static_cast<float>(coming_.size());
    }
  }
  ++rounds_;
  for (auto& [node, direction] : coming_) {
    for (std::size_t i = 0; i < kSketchSize; ++i) direction[i] -= mean[i];
    Remember(node, direction);
  }
  coming_.clear();
}

void NodeClusters::Remember(const std::string& node, const UpdateSketch& difference) {
  if (!nodes_.contains(node) && nodes_.size() == kMaxNodes) {
    nodes_.erase(
        std::ranges::min_element(nodes_, {}, [](const auto& each) { return each.second.last_round; }));
  }
  History& history = nodes_[node];
  if (history.last_round == 0) history.first_round = rounds_;
  history.last_round = rounds_;
  Half& half = history.halves[rounds_ % 2];
  const float share = 1.0F / static_cast<float>(std::min(++half.rounds, kRoundsOfMean));
  for (std::size_t i = 0; i < kSketchSize; ++i) half.mean[i] += share * (difference[i] - half.mean[i]);
}

void NodeClusters::Release() {
  coming_.clear();
  nodes_.clear();
}

bool NodeClusters::Judges(const History& history) const {
  const auto& [even, odd] = history.halves;
  if (std::min(even.rounds, odd.rounds) < kRoundsOfHalf) return false;
  // Rounds between two of its updates, on average.
  const std::uint64_t pause =
      (history.last_round - history.first_round) / (std::uint64_t{even.rounds} + odd.rounds - 1);
  return rounds_ - history.last_round <= std::max(kRoundsAway, kPausesAway * pause);
}

FoundClusters NodeClusters::Find() const {
  std::vector<std::string> names;
  std::vector<Halves> nodes;
  for (const auto& [node, history] : nodes_) {
    if (!Judges(history)) continue;
    names.push_back(node);
    nodes.push_back({&history.halves[0].mean, &history.halves[1].mean});
  }
  FoundClusters found;
  if (nodes.size() < 4) {
    found.why_none =
        fmt::format("{} nodes have taken part in {} rounds, 4 are needed", nodes.size(), 2 * kRoundsOfHalf);
    return found;
  }
  const std::optional<Division> best = Divide(nodes, most_);
  found.agreement = best ? std::max(best->agreement, 0.0) : 0;
  if (!best || best->agreement < best->needed) {
    found.why_none =
        best && best->needed < 1
            ? fmt::format("the best division of {} nodes has an agreement of {:.2f}, {:.2f} are needed",
                          nodes.size(), found.agreement, best->needed)
            : fmt::format("what {} nodes differ by is chance, as far as their updates tell", nodes.size());
    return found;
  }
  for (const Members& group : best->groups) {
    std::vector<std::string> members;
    for (const std::size_t k : group) members.push_back(names[k]);
    std::ranges::sort(members);
    if (members.size() > 1) {
      found.clusters.push_back(std::move(members));
    } else {
      found.alone.push_back(std::move(members.front()));
    }
  }
  std::ranges::sort(found.alone);
  std::ranges::sort(found.clusters, [](const auto& a, const auto& b) {
    return std::pair(b.size(), a.front()) < std::pair(a.size(), b.front());
  });
  return found;
}

}  // namespace tributary::learning
