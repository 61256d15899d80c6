#include "aggregator/learning/rules/node_division.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace tributary::learning {
namespace {

// Agreement of clusters that are worth a model each.
constexpr double kLeastAgreement = 0.5;
// What chance may add to an agreement, in standard deviations.
constexpr double kDeviations = 3;

// n × n, row-major.
class Square {
 public:
  explicit Square(std::size_t n) : n_(n), values_(n * n) {}
  double& at(std::size_t row, std::size_t column) { return values_[row * n_ + column]; }
  double at(std::size_t row, std::size_t column) const { return values_[row * n_ + column]; }

 private:
  std::size_t n_;
  std::vector<double> values_;
};

// What two halves say about n nodes.
struct Likeness {
  Square cosine;               // of the lasting differences of two nodes
  std::vector<double> weight;  // of each node; they add up to 1
  double noise = 0;            // standard deviation of an agreement where there is none
};

// By how much each node differs, but no one decides alone.
std::vector<double> Weights(const std::vector<double>& lasting) {
  constexpr double kMostOfMedian = 4;
  std::vector<double> sorted = lasting;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  std::vector<double> weights;
  for (const double each : lasting) weights.push_back(std::min(each, kMostOfMedian * *middle));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

Likeness Compare(const std::vector<Halves>& nodes) {
  const std::size_t n = nodes.size();
  Likeness likeness{.cosine = Square(n), .weight = {}};
  std::vector<double> noise(n), lasting(n);  // of the squared length of a node's difference
  for (std::size_t k = 0; k < n; ++k) {
    const auto& [even, odd] = nodes[k];
    noise[k] = std::sqrt(Dot(*even, *even) * Dot(*odd, *odd) / static_cast<double>(kSketchSize));
    // A difference below its own noise is none, and must not be scaled up.
    lasting[k] = std::max({Dot(*even, *odd), 2 * noise[k], std::numeric_limits<double>::min()});
  }
  likeness.weight = Weights(lasting);
  for (std::size_t k = 0; k < n; ++k) {
    likeness.noise += likeness.weight[k] * noise[k] / lasting[k] / std::sqrt(2.0);
    for (std::size_t l = 0; l < k; ++l) {
      const double product = (Dot(*nodes[k].even, *nodes[l].odd) + Dot(*nodes[l].even, *nodes[k].odd)) / 2;
      likeness.cosine.at(k, l) = likeness.cosine.at(l, k) = product / std::sqrt(lasting[k] * lasting[l]);
    }
  }
  return likeness;
}

// See FoundClusters: the nodes that are in a cluster, less for each that is in none.
double Agreement(const Likeness& likeness, const std::vector<Members>& groups) {
  double sum = 0, weights = 0, placed = 0;
  for (const Members& group : groups) {
    if (group.size() < 2) continue;
    placed += static_cast<double>(group.size());
    for (const std::size_t k : group) {
      weights += likeness.weight[k];
      for (const std::size_t l : group) {
        if (k == l) continue;
        sum += likeness.weight[k] * likeness.cosine.at(k, l) / static_cast<double>(group.size() - 1);
      }
    }
  }
  return weights > 0 ? sum / weights * placed / static_cast<double>(likeness.weight.size()) : 0;
}

std::size_t Clusters(const std::vector<Members>& groups) {
  return static_cast<std::size_t>(
      std::ranges::count_if(groups, [](const Members& group) { return group.size() > 1; }));
}

// Joins the two groups that are most alike on average, again and again: the divisions on the way, from many
// groups to two, as far as they have up to `most` clusters.
std::vector<Division> Divisions(const Likeness& likeness, std::size_t most) {
  const std::size_t n = likeness.weight.size();
  Square mean = likeness.cosine;  // of the pairs of two groups
  std::vector<Members> groups(n);
  for (std::size_t k = 0; k < n; ++k) groups[k] = {k};
  std::vector<Division> divisions;
  for (std::size_t left = n; left > 2; --left) {
    std::size_t first = n, second = n;
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t l = 0; l < k && !groups[k].empty(); ++l) {
        if (groups[l].empty()) continue;
        if (first == n || mean.at(k, l) > mean.at(second, first)) first = l, second = k;
      }
    }
    const auto weight = static_cast<double>(groups[first].size());
    const auto other = static_cast<double>(groups[second].size());
    for (std::size_t k = 0; k < n; ++k) {
      mean.at(first, k) = mean.at(k, first) =
          (weight * mean.at(first, k) + other * mean.at(second, k)) / (weight + other);
    }
    std::ranges::move(groups[second], std::back_inserter(groups[first]));
    groups[second].clear();
    Division division;
    std::ranges::copy_if(groups, std::back_inserter(division.groups),
                         [](const Members& g) { return !g.empty(); });
    if (Clusters(division.groups) > most) continue;
    division.agreement = Agreement(likeness, division.groups);
    divisions.push_back(std::move(division));
  }
  return divisions;
}

// The one with the fewest groups of those that are as good as the best, but for chance.
std::optional<Division> Best(const std::vector<Division>& divisions, double chance) {
  const auto best = std::ranges::max_element(divisions, {}, &Division::agreement);
  if (best == divisions.end()) return std::nullopt;
  const double enough = best->agreement - chance;
  return *std::ranges::find_if(divisions.rbegin(), divisions.rend(),
                               [enough](const Division& each) { return each.agreement >= enough; });
}

}  // namespace

std::optional<Division> Divide(const std::vector<Halves>& nodes, std::size_t most) {
  const Likeness likeness = Compare(nodes);
  const double chance = kDeviations * likeness.noise;
  std::optional<Division> best = Best(Divisions(likeness, most), chance);
  if (best) best->needed = kLeastAgreement + chance;
  return best;
}

}  // namespace tributary::learning
