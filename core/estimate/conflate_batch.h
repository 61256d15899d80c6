// Vectorised conflation of many two-dimensional tuples.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/estimate/tuple_planes.h"

namespace tributary::estimate {

// The result: one row per subject.
struct ConflatedBatch {
  TuplePlanes fused;
  // [padded rows]: sum over the sources of the squared Mahalanobis distance to the fused mean.
  std::vector<float> squared_distance;
  // [sources × padded rows]: normalised innovation squared of each source against the conflation of the
  // others. Near 0 for a vague tuple, meaningless without another source.
  std::vector<float> innovation;
};

// Conflates row by row n sources of equal size; inputs must be valid (TuplePlanes::Load). At most
// kMaxBatchSources. `with_innovation` also fills ConflatedBatch::innovation.
//
// Inputs and results are fp32, the arithmetic between is double, in a form without cancellation. With c =
// 1/l22², u = -l21/l11 and s = 1/l11² the information matrix of a tuple is c·[u 1]ᵀ[u 1] + s·[1 0]ᵀ[1 0], and
// a sum of such matrices has C = Σc, U = Σcu / C and S = Σs + Σ c(u - U)²: the two-pass formula of a
// variance, not a difference of products. For covariances up to condition 1e12 the results' relative error is
// that of their rounding to fp32, 2⁻²⁴ (1 + 1e-2), with l21 measured against √(l21² + l22²) and the mean
// against the larger of itself and the spread.
void ConflateBatch(std::span<const TuplePlanes* const> sources, bool with_innovation, ConflatedBatch& result);

inline constexpr std::size_t kMaxBatchSources = 64;

}  // namespace tributary::estimate
