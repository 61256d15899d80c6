#include "aggregator/fusion/subject_fusion.h"

#include <algorithm>

#include "core/estimate/consistency.h"
#include "core/estimate/covariance_intersection.h"
#include "core/estimate/information.h"

namespace tributary::fusion {
namespace {

template <int D>
absl::StatusOr<estimate::Information<D>> InformationOf(const std::vector<Contribution<D>*>& group) {
  if (group.size() == 1) return estimate::Information<D>::From(group[0]->tuple);
  std::vector<estimate::Gaussian<D>> tuples;
  tuples.reserve(group.size());
  for (const Contribution<D>* contribution : group) tuples.push_back(contribution->tuple);
  const absl::StatusOr<estimate::Gaussian<D>> intersection = estimate::Intersect<D>(tuples);
  if (!intersection.ok()) return intersection.status();
  return estimate::Information<D>::From(*intersection);
}

}  // namespace

template <int D>
std::optional<SubjectEstimate<D>> SubjectFusion<D>::Fuse(std::span<Contribution<D>> contributions) {
  for (Contribution<D>& contribution : contributions) {
    contribution.fate = Contribution<D>::Fate::kFused;
    contribution.innovation.reset();
  }
  LeaveOutRedundant(contributions);
  for (;;) {
    const std::vector<Group> groups = GroupByOverlap(contributions);
    std::optional<SubjectEstimate<D>> estimate = FuseGroups(groups);
    if (!estimate || !GateWorst(groups)) return estimate;
  }
}

template <int D>
void SubjectFusion<D>::LeaveOutRedundant(std::span<Contribution<D>> contributions) {
  for (Contribution<D>& one : contributions) {
    for (const Contribution<D>& other : contributions) {
      if (&one == &other || !one.leaves.IsSubsetOf(other.leaves)) continue;
      if (one.leaves == other.leaves && one.source < other.source) continue;
      one.fate = Contribution<D>::Fate::kRedundant;
    }
  }
}

template <int D>
auto SubjectFusion<D>::GroupByOverlap(std::span<Contribution<D>> contributions) const -> std::vector<Group> {
  std::vector<Group> groups;
  std::vector<LeafSet> leaves;  // of each group
  for (Contribution<D>& contribution : contributions) {
    if (contribution.fate != Contribution<D>::Fate::kFused) continue;
    Group merged = {&contribution};
    LeafSet merged_leaves = contribution.leaves;
    for (std::size_t i = groups.size(); i-- > 0;) {
      if (method_ == FusionMethod::kProduct && !leaves[i].Intersects(contribution.leaves)) continue;
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

template <int D>
std::optional<SubjectEstimate<D>> SubjectFusion<D>::FuseGroups(std::span<const Group> groups) const {
  std::vector<estimate::Information<D>> information;
  estimate::Information<D> sum;
  for (const Group& group : groups) {
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
    if (method_ == FusionMethod::kIntersection && groups[i].size() > 1) reference = *fused;
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

template <int D>
bool SubjectFusion<D>::GateWorst(std::span<const Group> groups) const {
  const std::size_t independent = method_ == FusionMethod::kIntersection ? groups[0].size() : groups.size();
  if (!gate_ || independent < 3) return false;
  Contribution<D>* worst = nullptr;
  for (const Group& group : groups) {
    for (Contribution<D>* contribution : group) {
      const double innovation = contribution->innovation.value_or(0);
      if (innovation > *gate_ && (worst == nullptr || innovation > *worst->innovation)) worst = contribution;
    }
  }
  if (worst == nullptr) return false;
  worst->fate = Contribution<D>::Fate::kGated;
  return true;
}

template class SubjectFusion<1>;
template class SubjectFusion<2>;
template class SubjectFusion<3>;

}  // namespace tributary::fusion
