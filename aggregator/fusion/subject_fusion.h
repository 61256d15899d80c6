// Fuses one subject's tuples when they may share leaves or contradict each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "aggregator/fusion/site_config.h"
#include "core/estimate/gaussian.h"

namespace tributary::fusion {

template <int D>
struct Contribution {
  enum class Fate { kFused, kRedundant, kGated };

  estimate::Gaussian<D> tuple;
  LeafSet leaves;
  std::uint32_t source = 0;
  std::size_t input = 0;  // the caller's

  // Set by FuseSubject.
  Fate fate = Fate::kFused;
  // Normalised innovation squared against the fusion of the others; unset without an independent other.
  std::optional<double> innovation = {};
};

template <int D>
struct SubjectEstimate {
  estimate::Gaussian<D> tuple;
  LeafSet leaves;
  double squared_distance = 0;  // sum over the fused tuples, to the fused mean
  std::size_t fused = 0;        // contributions
};

// Counts no leaf twice: leaves out a contribution whose leaves are all in another one (of two equal ones, the
// one with the higher source), intersects contributions that overlap in part, and conflates disjoint groups.
// With kIntersection all are one group. With a `gate` (a chi-square quantile), removes the contribution with
// the largest innovation above it and fuses the rest again, as long as three independent ones remain. The
// order of the contributions does not matter. Returns nothing if the result is beyond the range of double.
template <int D>
std::optional<SubjectEstimate<D>> FuseSubject(std::span<Contribution<D>> contributions, FusionMethod method,
                                              std::optional<double> gate);

}  // namespace tributary::fusion
