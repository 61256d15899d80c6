#include "aggregator/fusion/gaussian_subject.h"

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/estimate/conflation.h"
#include "core/estimate/consistency.h"
#include "core/estimate/covariance_intersection.h"
#include "core/status/macros.h"

namespace tributary::fusion {
namespace {

template <int D>
using GaussianGroup = Group<estimate::Gaussian<D>>;

template <int D>
absl::StatusOr<estimate::Information<D>> InformationOf(const GaussianGroup<D>& group) {
  if (group.size() == 1) return estimate::Information<D>::From(group[0]->tuple);
  std::vector<estimate::Gaussian<D>> tuples;
  tuples.reserve(group.size());
  for (const GaussianContribution<D>* contribution : group) tuples.push_back(contribution->tuple);
  ASSIGN_OR_RETURN(const auto intersection, estimate::Intersect<D>(tuples));
  return estimate::Information<D>::From(intersection);
}

// Conflates the groups and measures the innovations.
template <int D>
std::optional<SubjectEstimate<D>> FuseGroups(std::span<const GaussianGroup<D>> groups, FusionMethod method) {
  std::vector<estimate::Information<D>> information;
  estimate::Information<D> sum;
  for (const GaussianGroup<D>& group : groups) {
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
    for (GaussianContribution<D>* contribution : groups[i]) {
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

}  // namespace

template <int D>
std::optional<SubjectEstimate<D>> FuseSubject(std::span<GaussianContribution<D>> contributions,
                                              FusionMethod method, std::optional<double> gate) {
  return FuseContributions(contributions, method, gate, [method](std::span<const GaussianGroup<D>> groups) {
    return FuseGroups<D>(groups, method);
  });
}

template std::optional<SubjectEstimate<1>> FuseSubject(std::span<GaussianContribution<1>>, FusionMethod,
                                                       std::optional<double>);
template std::optional<SubjectEstimate<2>> FuseSubject(std::span<GaussianContribution<2>>, FusionMethod,
                                                       std::optional<double>);
template std::optional<SubjectEstimate<3>> FuseSubject(std::span<GaussianContribution<3>>, FusionMethod,
                                                       std::optional<double>);

}  // namespace tributary::fusion
