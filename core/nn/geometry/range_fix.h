// One estimate by geometry: the position that fits the ranges of a row best.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "core/nn/geometry/range_geometry.h"

namespace tributary::nn {

struct RangeFix {
  std::array<double, 2> position_m = {};
  std::array<double, 3> covariance = {};  // xx, xy, yy in m², with variance_scale, without Widening
  double mean_squared_residual = 0.0;     // in units of the deviations, each at most 25
};

// Minimises a Student-t likelihood (4 degrees of freedom) by reweighted Gauss-Newton from several headings,
// so that single ranges with a long echo count little. `ranges_m` as RangeGeometry's inputs; missing ones are
// left out. Where the rest fits at several places, the covariance covers these, each by its likelihood.
// nullopt if the position is undetermined. Allocates nothing.
std::optional<RangeFix> FixOf(const RangeGeometry& geometry, std::span<const double> ranges_m);

// Factor of at least 1 on the variance of an estimate out of reach: where training has never been, the biases
// are those of other places, and residuals above the limit contradict the model. The factor is
// 1 + (distance beyond the radius / 1 m)², times the residual over its limit: the biases change on a scale of
// about a metre, so that one metre outside they are as wrong as they were corrected.
double Widening(const RangeGeometry& geometry, const RangeFix& fix);

// Lower Cholesky factor l11, l21, l22 (m) of the covariance with Widening.
std::array<double, 3> CholeskyOf(const RangeGeometry& geometry, const RangeFix& fix);

}  // namespace tributary::nn
