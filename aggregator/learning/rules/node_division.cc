#include "aggregator/learning/rules/node_division.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

namespace tributary::learning {
namespace {

// Agreement of clusters that are worth a model each.
constexpr double kLeastAgreement = 0.5;
// What chance may add to an agreement, in standard deviations.
constexpr double kDeviations = 3;
// The cosine of its own two halves below which a node contradicts itself. Noise and error feedback stay
// above.
constexpr double kContradiction = -0.25;
// The mean cosine with its group below which a node is like no other.
constexpr double kLeastFit = kLeastAgreement / 2;
// A difference shorter than this, of updates of length 1, is none: floats round.
constexpr double kLeastLength = 1e-3;

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
  Square cosine;               // of the lasting differences of two nodes, estimated, from -1 to 1
  std::vector<double> weight;  // of each node; they add up to 1
  std::vector<double> noise;   // standard deviation of a cosine of each node where there is no likeness
  std::vector<bool> steady;    // of each node: its halves do not contradict each other; else its weight is 0
};

// What the two halves of a node say about itself.
struct Own {
  explicit Own(const Halves& halves) {
    const double even = Dot(*halves.even, *halves.even), odd = Dot(*halves.odd, *halves.odd);
    const double size = std::sqrt(even * odd);
    if (size > 0) {
      balance = std::sqrt(std::sqrt(odd / even));
      steadiness = Dot(*halves.even, *halves.odd) / size;
    }
    noise = size / std::sqrt(static_cast<double>(kSketchSize));
    // A difference below its own noise is none, and must not be scaled up.
    lasting = std::max({std::abs(steadiness) * size, 2 * noise, kLeastLength * kLeastLength});
  }

  double steadiness = 0;  // cosine of the halves
  double lasting = 0;     // squared length of the difference that lasts
  double noise = 0;       // its standard deviation
  double balance = 1;  // times it, the even half is as long as the odd one divided by it: who hides one half
                       // gains nothing by the other
};

bool IsSteady(const Own& own) { return own.steadiness >= kContradiction; }

// By how much each node differs, but no one decides alone.
std::vector<double> Weights(const std::vector<Own>& own) {
  constexpr double kMostOfMedian = 4;
  std::vector<double> sorted;
  for (const Own& each : own) sorted.push_back(each.lasting);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  std::vector<double> weights;
  for (const Own& each : own) {
    weights.push_back(IsSteady(each) ? std::min(each.lasting, kMostOfMedian * *middle) : 0);
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum > 0 ? sum : 1;
  return weights;
}

double Product(const Halves& a, const Own& own_a, const Halves& b, const Own& own_b) {
  const double balance = own_a.balance / own_b.balance;
  return (Dot(*a.even, *b.odd) * balance + Dot(*b.even, *a.odd) / balance) / 2;
}

// A node cannot be longer than all of it, chance included: so nobody makes a steady node small who sends what
// it had by chance.
double MostRaised(const Own& own) { return 1 / std::max(own.steadiness, 1e-6); }

// Raises squared lengths until no cosine exceeds 1, as far as that may be. What two nodes have in common in
// opposite rounds may be more than what each has in common with itself: the halves of one may contradict each
// other by intent, or by error feedback, which sends later what it did not send before. The less steady of
// the two is at fault.
std::vector<double> RaisedToProducts(const Square& product, const std::vector<Own>& own) {
  std::vector<double> factor(own.size(), 1.0);
  for (std::size_t k = 0; k < own.size(); ++k) {
    for (std::size_t l = 0; l < k; ++l) {
      const double cosine = product.at(k, l) / std::sqrt(own[k].lasting * own[l].lasting);
      if (cosine <= 1) continue;
      const double steadier = own[k].steadiness - own[l].steadiness;
      const double needed = steadier == 0 ? cosine : cosine * cosine;
      if (steadier <= 0) factor[k] = std::max(factor[k], std::min(needed, MostRaised(own[k])));
      if (steadier >= 0) factor[l] = std::max(factor[l], std::min(needed, MostRaised(own[l])));
    }
  }
  std::vector<double> raised;
  for (std::size_t k = 0; k < own.size(); ++k) raised.push_back(own[k].lasting * factor[k]);
  return raised;
}

// Both halves of each node without what parts even from odd rounds for most nodes: nodes that swing in unison
// move the mean of each round, and with it everybody's difference from it. What sets clusters apart is in
// both halves, and cancels.
std::vector<std::array<UpdateSketch, 2>> WithoutSwing(const std::vector<Halves>& nodes) {
  std::vector<std::array<UpdateSketch, 2>> still;
  for (const auto& [even, odd] : nodes) still.push_back({*even, *odd});
  std::vector<float> swings(nodes.size());
  const auto middle = swings.begin() + static_cast<std::ptrdiff_t>(swings.size() / 2);
  for (std::size_t i = 0; i < kSketchSize; ++i) {
    std::ranges::transform(nodes, swings.begin(),
                           [i](const Halves& each) { return ((*each.even)[i] - (*each.odd)[i]) / 2; });
    std::ranges::nth_element(swings, middle);
    for (auto& [even, odd] : still) {
      even[i] -= *middle;
      odd[i] += *middle;
    }
  }
  return still;
}

Likeness Compare(const std::vector<Halves>& nodes) {
  const std::size_t n = nodes.size();
  const std::vector<Own> own(nodes.begin(), nodes.end());
  Likeness likeness{.cosine = Square(n), .weight = Weights(own), .noise = {}, .steady = {}};
  Square product(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t l = 0; l < k; ++l) product.at(k, l) = Product(nodes[k], own[k], nodes[l], own[l]);
  }
  const std::vector<double> lasting = RaisedToProducts(product, own);
  for (std::size_t k = 0; k < n; ++k) {
    likeness.steady.push_back(IsSteady(own[k]));
    likeness.noise.push_back(own[k].noise / lasting[k] / std::sqrt(2.0));
    for (std::size_t l = 0; l < k; ++l) {
      const double cosine = product.at(k, l) / std::sqrt(lasting[k] * lasting[l]);
      likeness.cosine.at(k, l) = likeness.cosine.at(l, k) = std::clamp(cosine, -1.0, 1.0);
    }
  }
  return likeness;
}

// The mean cosine of a node and the other steady ones of its group; -1: there are none.
double Fit(const Likeness& likeness, const Members& group, std::size_t node) {
  double sum = 0, others = 0;
  for (const std::size_t other : group) {
    if (other == node || !likeness.steady[other]) continue;
    sum += likeness.cosine.at(node, other);
    ++others;
  }
  return others > 0 ? sum / others : -1;
}

std::ptrdiff_t SteadyNodes(const Likeness& likeness, const Members& group) {
  return std::ranges::count_if(group, [&likeness](std::size_t node) { return likeness.steady[node]; });
}

// See Division: of the nodes that are in a cluster, less for each that is in none.
double Agreement(const Likeness& likeness, const std::vector<Members>& groups) {
  double sum = 0, weights = 0, placed = 0, all = 0;
  for (const Members& group : groups) {
    const auto steady = static_cast<double>(SteadyNodes(likeness, group));
    all += static_cast<double>(group.size());
    if (steady < 2) continue;
    placed += steady;
    for (const std::size_t k : group) {
      weights += likeness.weight[k];
      sum += likeness.weight[k] * Fit(likeness, group, k);
    }
  }
  return weights > 0 ? sum / weights * placed / all : 0;
}

// What chance may add to the agreement of these groups.
double Chance(const Likeness& likeness, const std::vector<Members>& groups) {
  double sum = 0, weights = 0;
  for (const Members& group : groups) {
    if (SteadyNodes(likeness, group) < 2) continue;
    for (const std::size_t k : group) {
      sum += likeness.weight[k] * likeness.noise[k];
      weights += likeness.weight[k];
    }
  }
  return weights > 0 ? kDeviations * sum / weights : kDeviations;
}

// Leaves the `most` largest groups of several nodes; the nodes of the others are alone. So a few nodes that
// are alike, whatever they send, do not take the place of a larger cluster.
void LeaveLargest(const Likeness& likeness, std::size_t most, std::vector<Members>& groups) {
  std::ranges::stable_sort(groups, std::ranges::greater(),
                           [&likeness](const Members& group) { return SteadyNodes(likeness, group); });
  Members alone;
  while (groups.size() > most) {
    alone.insert(alone.end(), groups.back().begin(), groups.back().end());
    groups.pop_back();
  }
  for (const std::size_t node : alone) groups.push_back({node});
}

// Joins the two groups that are most alike on average, again and again: the divisions on the way, from many
// groups to two, with up to `most` clusters.
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
    LeaveLargest(likeness, most, division.groups);
    division.agreement = Agreement(likeness, division.groups);
    divisions.push_back(std::move(division));
  }
  return divisions;
}

// The one with the fewest groups of those that are as good as the best, but for chance.
std::optional<Division> Best(const Likeness& likeness, const std::vector<Division>& divisions) {
  const auto best = std::ranges::max_element(divisions, {}, &Division::agreement);
  if (best == divisions.end()) return std::nullopt;
  const double enough = best->agreement - Chance(likeness, best->groups);
  const auto fewest =
      std::ranges::find_if(divisions.rbegin(), divisions.rend(),
                           [enough](const Division& each) { return each.agreement >= enough; });
  return fewest == divisions.rend() ? *best : *fewest;
}

// Takes the nodes out of their groups that contradict themselves or do not fit them, the worst first.
void LeaveAlone(const Likeness& likeness, Division& division) {
  Members alone;
  for (Members& group : division.groups) {
    while (group.size() > 1) {
      const auto fit = [&](std::size_t node) {
        return likeness.steady[node] ? Fit(likeness, group, node) : -2;
      };
      const auto worst = std::ranges::min_element(group, {}, fit);
      if (fit(*worst) >= kLeastFit) break;
      alone.push_back(*worst);
      group.erase(worst);
    }
  }
  for (const std::size_t node : alone) division.groups.push_back({node});
  division.agreement = Agreement(likeness, division.groups);
}

}  // namespace

std::optional<Division> Divide(const std::vector<Halves>& nodes, std::size_t most) {
  const std::vector<std::array<UpdateSketch, 2>> still = WithoutSwing(nodes);
  std::vector<Halves> halves;
  for (const auto& [even, odd] : still) halves.push_back({&even, &odd});
  const Likeness likeness = Compare(halves);
  std::optional<Division> best = Best(likeness, Divisions(likeness, most));
  if (!best) return best;
  LeaveAlone(likeness, *best);
  best->needed = kLeastAgreement + Chance(likeness, best->groups);
  return best;
}

}  // namespace tributary::learning
