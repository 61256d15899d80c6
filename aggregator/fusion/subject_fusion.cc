#include "aggregator/fusion/subject_fusion.h"

#include <vector>

#include "core/estimate/conflation.h"
#include "core/estimate/consistency.h"
#include "core/estimate/covariance_intersection.h"
#include "core/status/macros.h"

namespace tributary::fusion {
namespace {

template <int D>
using Group = std::vector<Contribution<D>*>;

template <int D>
absl::StatusOr<estimate::Information<D>> InformationOf(const Group<D>& group) {
  if (group.size() == 1) return estimate::Information<D>::From(group[0]->tuple);
  std::vector<estimate::Gaussian<D>> tuples;
  tuples.reserve(group.size());
  for (const Contribution<D>* contribution : group) tuples.push_back(contribution->tuple);
  ASSIGN_OR_RETURN(const auto intersection, estimate::Intersect<D>(tuples));
  return estimate::Information<D>::From(intersection);
}

template <int D>
void LeaveOutRedundant(std::span<Contribution<D>> contributions) {
  for (Contribution<D>& one : contributions) {
    for (const Contribution<D>& other : contributions) {
      if (&one == &other || !IsSubset(one.leaves, other.leaves)) continue;
      if (one.leaves == other.leaves && one.source < other.source) continue;
      one.fate = Contribution<D>::Fate::kRedundant;
    }
  }
}

template <int D>
std::vector<Group<D>> GroupByOverlap(std::span<Contribution<D>> contributions, FusionMethod method) {
  std::vector<Group<D>> groups;
  std::vector<LeafSet> leaves;  // of each group
  for (Contribution<D>& contribution : contributions) {
    if (contribution.fate != Contribution<D>::Fate::kFused) continue;
    Group<D> merged = {&contribution};
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

// Conflates the groups and measures the innovations.
template <int D>
std::optional<SubjectEstimate<D>> FuseGroups(std::span<const Group<D>> groups, FusionMethod method) {
  std::vector<estimate::Information<D>> information;
  estimate::Information<D> sum;
  for (const Group<D>& group : groups) {
    absl::StatusOr<estimate::Information<D>> one = InformationOf<D>(group);
    if (!one.ok()) return std::nullopt;
    sum.Add(*one);
    information.push_back(*std::move(one));
  }
  absl::StatusOr<estimate::Gaussian<D>> fused = sum.ToGaussian();
  if (!fused.ok() || !Validate(*fused).ok()) return std::nullopt;

  SubjectEstimate<D> estimate;
  estimate.tuple = *fused;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    estimate::Information<D> others;
    for (std::size_t j = 0; j < groups.size(); ++j) {
      if (j != i) others.Add(information[j]);
    }
    absl::StatusOr<estimate::Gaussian<D>> reference = others.ToGaussian();
    // After an intersection no input has independent others; the innovation against the intersection is an
    // upper bound.
    if (method == FusionMethod::kIntersection && groups[i].size() > 1) reference = *fused;
    for (Contribution<D>* contribution : groups[i]) {
      contribution->innovation.reset();
      if (reference.ok()) {
        contribution->innovation = estimate::NormalisedInnovationSquared<D>(contribution->tuple, *reference);
      }
      estimate.leaves |= contribution->leaves;
      estimate.squared_distance += contribution->tuple.SquaredDistance(fused->mean);
      ++estimate.fused;
    }
  }
  return estimate;
}

// Removes the worst contribution above the gate; false if there is none.
template <int D>
bool GateWorst(std::span<const Group<D>> groups, FusionMethod method, double gate) {
  const std::size_t independent = method == FusionMethod::kIntersection ? groups[0].size() : groups.size();
  if (independent < 3) return false;
  Contribution<D>* worst = nullptr;
  for (const Group<D>& group : groups) {
    for (Contribution<D>* contribution : group) {
      const double innovation = contribution->innovation.value_or(0);
      if (innovation > gate && (worst == nullptr || innovation > *worst->innovation)) worst = contribution;
    }
  }
  if (worst == nullptr) return false;
  worst->fate = Contribution<D>::Fate::kGated;
  return true;
}

}  // namespace

template <int D>
std::optional<SubjectEstimate<D>> FuseSubject(std::span<Contribution<D>> contributions, FusionMethod method,
                                              std::optional<double> gate) {
  LeaveOutRedundant(contributions);
  for (;;) {
    const std::vector<Group<D>> groups = GroupByOverlap(contributions, method);
    std::optional<SubjectEstimate<D>> estimate = FuseGroups<D>(groups, method);
    if (!estimate || !gate || !GateWorst<D>(groups, method, *gate)) return estimate;
  }
}

template std::optional<SubjectEstimate<1>> FuseSubject(std::span<Contribution<1>>, FusionMethod,
                                                       std::optional<double>);
template std::optional<SubjectEstimate<2>> FuseSubject(std::span<Contribution<2>>, FusionMethod,
                                                       std::optional<double>);
template std::optional<SubjectEstimate<3>> FuseSubject(std::span<Contribution<3>>, FusionMethod,
                                                       std::optional<double>);

}  // namespace tributary::fusion
