// Fusion of independent estimates, in the information form.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/estimate/gaussian.h"

namespace tributary::estimate {

// Information matrix Λ = Σ⁻¹ and information vector η = Λ·mean of a sum of independent estimates. Empty at
// first.
//
// Stores the square root: the lower triangle M with Λ = MᵀM, and z with η = Mᵀz. For one Gaussian M = L⁻¹, by
// triangular inversion. Adding rotates the new rows into the triangle (orthogonal, so backward stable). The
// way back is again a triangular inversion, L = M⁻¹. This never forms Λ: its condition is the square of M's.
// A sum of matrices of condition 1e12 leaves four digits in double; the rotations leave ten.
template <int D>
class Information {
 public:
  Information() = default;

  // InvalidArgument as Validate(gaussian), or if the information is beyond the range of double.
  static absl::StatusOr<Information> From(const Gaussian<D>& gaussian);

  // Λ += weight·Λ', η += weight·η'. Weight 1 conflates independent estimates; the weights of covariance
  // intersection sum to 1. Not negative.
  void Add(const Information& other, double weight = 1);

  // FailedPrecondition if not every direction is known (nothing added yet).
  absl::StatusOr<Gaussian<D>> ToGaussian() const;

  // M, with Λ = MᵀM.
  const Matrix<D>& root() const { return root_; }

 private:
  // Rotates one row into the triangle.
  void AddRow(Vector<D> row, double rhs);

  Matrix<D> root_ = Matrix<D>::Zero();
  Vector<D> rhs_ = Vector<D>::Zero();
};

// The information of each input. InvalidArgument if there is none ("no estimate to <purpose>"), or one is not
// valid (its index is named).
template <int D>
absl::StatusOr<std::vector<Information<D>>> InformationOf(std::span<const Gaussian<D>> inputs,
                                                          const char* purpose);

// The normalised product of the densities [Hill11]: Λ = Σ Λᵢ, η = Σ ηᵢ. Commutative and associative, not
// idempotent: a source given twice halves its covariance. InvalidArgument as InformationOf.
template <int D>
absl::StatusOr<Gaussian<D>> Conflate(std::span<const Gaussian<D>> inputs);

}  // namespace tributary::estimate
