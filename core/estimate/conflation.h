// Fusion of independent estimates, in the information form.
#pragma once

#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/estimate/gaussian.h"
#include "core/status/macros.h"

namespace tributary::estimate {

// Rotates a row and its right-hand side into the lower triangle M and into z: MᵀM += row·rowᵀ, Mᵀz +=
// row·value.
template <int D>
void RotateInto(Matrix<D>& root, Vector<D>& rhs, Vector<D> row, double value) {
  for (int k = D - 1; k >= 0; --k) {
    if (row[k] == 0) continue;
    const double radius = std::hypot(root(k, k), row[k]);
    const double cosine = root(k, k) / radius;
    const double sine = row[k] / radius;
    root(k, k) = radius;
    for (int j = 0; j < k; ++j) {
      const double kept = root(k, j);
      root(k, j) = cosine * kept + sine * row[j];
      row[j] = cosine * row[j] - sine * kept;
    }
    const double kept = rhs[k];
    rhs[k] = cosine * kept + sine * value;
    value = cosine * value - sine * kept;
  }
}

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
  static absl::StatusOr<Information> From(const Gaussian<D>& gaussian) {
    RETURN_IF_ERROR(Validate(gaussian));
    Information information;
    information.root_ = InverseOfLower<D>(gaussian.cholesky);
    information.rhs_ = Product<D, D, 1>(information.root_, gaussian.mean);
    if (!information.root_.allFinite() || !information.rhs_.allFinite()) {
      return absl::InvalidArgumentError("the information is beyond the range of double");
    }
    return information;
  }

  // Λ += weight·Λ', η += weight·η'. Weight 1 conflates independent estimates; the weights of covariance
  // intersection sum to 1. Not negative.
  void Add(const Information& other, double weight = 1) {
    const double scale = std::sqrt(weight);
    for (int row = D - 1; row >= 0; --row) {
      Vector<D> scaled;
      for (int k = 0; k < D; ++k) scaled[k] = scale * other.root_(row, k);
      RotateInto<D>(root_, rhs_, scaled, scale * other.rhs_[row]);
    }
  }

  // FailedPrecondition if not every direction is known (nothing added yet).
  absl::StatusOr<Gaussian<D>> ToGaussian() const {
    for (int k = 0; k < D; ++k) {
      if (!(root_(k, k) > 0)) {
        return absl::FailedPreconditionError("the information is not positive definite");
      }
    }
    Gaussian<D> gaussian;
    gaussian.cholesky = InverseOfLower<D>(root_);
    gaussian.mean = SolveLower<D>(root_, rhs_);
    return gaussian;
  }

  // M, with Λ = MᵀM.
  const Matrix<D>& root() const { return root_; }

 private:
  Matrix<D> root_ = Matrix<D>::Zero();
  Vector<D> rhs_ = Vector<D>::Zero();
};

// The information of each input. InvalidArgument if there is none ("no estimate to <purpose>"), or one is not
// valid (its index is named).
template <int D>
absl::StatusOr<std::vector<Information<D>>> InformationOf(std::span<const Gaussian<D>> inputs,
                                                          const char* purpose) {
  if (inputs.empty()) return absl::InvalidArgumentError(absl::StrCat("no estimate to ", purpose));
  std::vector<Information<D>> all;
  all.reserve(inputs.size());
  for (const Gaussian<D>& input : inputs) {
    absl::StatusOr<Information<D>> one = Information<D>::From(input);
    if (!one.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("estimate ", all.size(), ": ", one.status().message()));
    }
    all.push_back(*std::move(one));
  }
  return all;
}

// The normalised product of the densities [Hill11]: Λ = Σ Λᵢ, η = Σ ηᵢ. Commutative and associative, not
// idempotent: a source given twice halves its covariance. InvalidArgument as InformationOf.
template <int D>
absl::StatusOr<Gaussian<D>> Conflate(std::span<const Gaussian<D>> inputs) {
  ASSIGN_OR_RETURN(const std::vector<Information<D>> all, InformationOf(inputs, "conflate"));
  Information<D> sum;
  for (const Information<D>& one : all) sum.Add(one);
  return sum.ToGaussian();
}

}  // namespace tributary::estimate
