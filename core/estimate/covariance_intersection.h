// Fusion of estimates whose correlation is unknown.
#pragma once

#include <Eigen/Core>
#include <span>

#include "absl/status/statusor.h"
#include "core/estimate/gaussian.h"

namespace tributary::estimate {

// The weights w ≥ 0, Σw = 1, that minimise the determinant of (Σ wᵢΛᵢ)⁻¹. The problem is convex; the log
// determinant is within 1e-9 per input of its minimum. Where several weights are optimal (equal inputs), they
// are the most even ones, so the order of the inputs does not matter. InvalidArgument as Intersect.
template <int D>
absl::StatusOr<Eigen::VectorXd> IntersectionWeights(std::span<const Gaussian<D>> inputs);

// Λ = Σ wᵢΛᵢ, η = Σ wᵢηᵢ with those weights: consistent whatever the correlation (optimal for two inputs,
// conservative for more). InvalidArgument if there is no input, or one is not valid (its index is named).
template <int D>
absl::StatusOr<Gaussian<D>> Intersect(std::span<const Gaussian<D>> inputs);

}  // namespace tributary::estimate
