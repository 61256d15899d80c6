// What the sources say of one subject in a slot, and which of it counts: no leaf twice, nothing that
// contradicts the others too much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "aggregator/fusion/site_config.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::fusion {

template <class Tuple>
struct Contribution {
  using Fate = estimate::TupleFate;

  Tuple tuple;
  LeafSet leaves;
  std::uint32_t source = 0;
  std::size_t input = 0;  // the caller's

  // Set by FuseContributions.
  Fate fate = Fate::kFused;
  // How far it lies from the fusion of the others; what the gate judges. Unset without an independent other.
  // Gaussian: normalised innovation squared. Categorical: log-surprise.
  std::optional<double> innovation = {};
};

// Contributions that may be correlated. Two groups are independent.
template <class Tuple>
using Group = std::vector<Contribution<Tuple>*>;

template <class Tuple>
void LeaveOutRedundant(std::span<Contribution<Tuple>> contributions) {
  for (Contribution<Tuple>& one : contributions) {
    for (const Contribution<Tuple>& other : contributions) {
      if (&one == &other || !IsSubset(one.leaves, other.leaves)) continue;
      if (one.leaves == other.leaves && one.source < other.source) continue;
      one.fate = Contribution<Tuple>::Fate::kRedundant;
    }
  }
}

template <class Tuple>
std::vector<Group<Tuple>> GroupByOverlap(std::span<Contribution<Tuple>> contributions, FusionMethod method) {
  std::vector<Group<Tuple>> groups;
  std::vector<LeafSet> leaves;  // of each group
  for (Contribution<Tuple>& contribution : contributions) {
    if (contribution.fate != Contribution<Tuple>::Fate::kFused) continue;
    Group<Tuple> merged = {&contribution};
    LeafSet merged_leaves = contribution.leaves;
    for (std::size_t i = groups.size(); i-- > 0;) {
      if (method == FusionMethod::kProduct && !Intersect(leaves[i], contribution.leaves)) continue;
      merged.insert(merged.end(), groups[i].begin(), groups[i].end());
      merged_leaves |= leaves[i];
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
      leaves.erase(leaves.begin() + static_cast<std::ptrdiff_t>(i));
    }
    groups.push_back(std::move(merged));
    leaves.push_back(merged_leaves);
  }
  return groups;
}

// Removes the worst contribution above the gate, or all that are above it; false if there is none.
template <class Tuple>
bool Gate(std::span<const Group<Tuple>> groups, FusionMethod method, double gate, bool all) {
  const std::size_t independent = method == FusionMethod::kIntersection ? groups[0].size() : groups.size();
  if (independent < 3) return false;
  Contribution<Tuple>* worst = nullptr;
  for (const Group<Tuple>& group : groups) {
    for (Contribution<Tuple>* contribution : group) {
      if (!contribution->innovation || !(*contribution->innovation > gate)) continue;
      if (all) contribution->fate = Contribution<Tuple>::Fate::kGated;
      if (worst == nullptr || *contribution->innovation > *worst->innovation) worst = contribution;
    }
  }
  if (worst == nullptr) return false;
  worst->fate = Contribution<Tuple>::Fate::kGated;
  return true;
}

// Counts no leaf twice: leaves out a contribution whose leaves are all in another one (of two equal ones, the
// one with the higher source), and groups those that overlap in part. With kIntersection all are one group.
// `fuse_groups` sets the innovations and returns an optional estimate. With a `gate`, removes the
// contribution with the largest innovation above it and fuses the rest again, as long as three independent
// ones remain. After kMostGatings it removes all that are above the gate: each time costs a fusion, and many
// sources that lie must not cost one each. The order of the contributions does not matter.
template <class Tuple, class FuseGroups>
auto FuseContributions(std::span<Contribution<Tuple>> contributions, FusionMethod method,
                       std::optional<double> gate, FuseGroups fuse_groups) {
  constexpr int kMostGatings = 8;
  LeaveOutRedundant(contributions);
  for (int gatings = 0;; ++gatings) {
    const std::vector<Group<Tuple>> groups = GroupByOverlap(contributions, method);
    auto estimate = fuse_groups(std::span<const Group<Tuple>>(groups));
    if (!estimate || !gate ||
        !Gate(std::span<const Group<Tuple>>(groups), method, *gate, gatings >= kMostGatings)) {
      return estimate;
    }
  }
}

}  // namespace tributary::fusion
