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

// The same in fp32 throughout, twice the lanes and without consistency: for bulk work on well-conditioned
// tuples. The error grows with κ, the square root of the largest covariance's condition, as that of rounding
// the inputs to fp32 does: at most 2⁻²⁴·(8 + 16κ) relative for L, and that many standard deviations (beside
// half a unit in the last place) for the mean of sources that agree within a few of them. Factors must lie
// between 1e-12 and 1e12 m.
void ConflateBatchInSingle(std::span<const TuplePlanes* const> sources, TuplePlanes& fused);

inline constexpr std::size_t kMaxBatchSources = 64;

}  // namespace tributary::estimate
