// Fusion of independent estimates.
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "core/estimate/gaussian.h"

namespace tributary::estimate {

// The normalised product of the densities [Hill11]: Λ = Σ Λᵢ, η = Σ ηᵢ. Commutative and associative, not
// idempotent: a source given twice halves its covariance. InvalidArgument if there is no input, or one is not
// valid (its index is named).
template <int D>
absl::StatusOr<Gaussian<D>> Conflate(std::span<const Gaussian<D>> inputs);

}  // namespace tributary::estimate
