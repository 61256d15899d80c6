// Fusion of one subject's tuples where they may share leaves or contradict each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/fusion/leaf_set.h"
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

  // Results.
  Fate fate = Fate::kFused;
  // Normalised innovation squared against the fusion of the others; unset where there is no independent
  // other.
  std::optional<double> innovation;
};

template <int D>
struct SubjectEstimate {
  estimate::Gaussian<D> tuple;
  LeafSet leaves;
  double squared_distance = 0;  // sum over what was fused, to the fused mean
  std::size_t fused = 0;        // contributions
};

// No leaf is multiplied twice: a contribution whose leaves are among another's is left out (of equals, the
// one with the higher source), those that overlap in part are intersected, and disjoint groups are conflated.
// With kIntersection all are one group. With a gate, the contribution with the largest innovation above it is
// left out and the rest is fused again, as long as three independent ones are there. The order of the
// contributions does not matter.
template <int D>
class SubjectFusion {
 public:
  // `gate`: chi-square quantile.
  SubjectFusion(FusionMethod method, std::optional<double> gate) : method_(method), gate_(gate) {}

  // Sets fate and innovation of each. Empty if the result is beyond the range of double.
  std::optional<SubjectEstimate<D>> Fuse(std::span<Contribution<D>> contributions);

 private:
  using Group = std::vector<Contribution<D>*>;

  static void LeaveOutRedundant(std::span<Contribution<D>> contributions);
  std::vector<Group> GroupByOverlap(std::span<Contribution<D>> contributions) const;
  // Of the groups: also measures the innovations.
  std::optional<SubjectEstimate<D>> FuseGroups(std::span<const Group> groups) const;
  // Leaves out the worst contribution above the gate; false if there is none.
  bool GateWorst(std::span<const Group> groups) const;

  const FusionMethod method_;
  const std::optional<double> gate_;
};

}  // namespace tributary::fusion
