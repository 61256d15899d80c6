// Fuses one subject's Gaussian tuples when they may share leaves or contradict each other.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "aggregator/fusion/contribution.h"
#include "aggregator/fusion/site_config.h"
#include "core/estimate/gaussian.h"

namespace tributary::fusion {

template <int D>
using GaussianContribution = Contribution<estimate::Gaussian<D>>;

template <int D>
struct SubjectEstimate {
  estimate::Gaussian<D> tuple;
  LeafSet leaves;
  double squared_distance = 0;  // sum over the fused tuples, to the fused mean
  std::size_t fused = 0;        // contributions
};

// Intersects the contributions of a group and conflates the groups (FuseContributions). `gate`: a chi-square
// quantile. Returns nothing if the result is beyond the range of double.
template <int D>
std::optional<SubjectEstimate<D>> FuseSubject(std::span<GaussianContribution<D>> contributions,
                                              FusionMethod method, std::optional<double> gate);

}  // namespace tributary::fusion
