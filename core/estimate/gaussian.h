// A Gaussian estimate of a position in one to three dimensions.
#pragma once

#include <cmath>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/estimate/small_matrix.h"

namespace tributary::estimate {

// Mean and lower Cholesky factor L of the covariance, Σ = L·Lᵀ; both in m. This stores the factor, not the
// covariance: its condition is the square root of the covariance's, which keeps twice the digits.
template <int D>
struct Gaussian {
  static_assert(D >= 1 && D <= 3);

  Vector<D> mean = Vector<D>::Zero();
  Matrix<D> cholesky = Matrix<D>::Identity();  // strictly upper part zero

  // From the wire's order: d values of the mean, d(d+1)/2 rows of the factor (l11, l21, l22, l31, l32, l33).
  static Gaussian FromTuple(const float* mean, const float* cholesky) {
    Gaussian gaussian;
    gaussian.cholesky.setZero();
    for (int row = 0; row < D; ++row) {
      gaussian.mean[row] = mean[row];
      for (int column = 0; column <= row; ++column) gaussian.cholesky(row, column) = *cholesky++;
    }
    return gaussian;
  }

  // m²
  Matrix<D> Covariance() const { return TransposedProduct<D, D, D>(cholesky, cholesky); }

  // (point - mean)ᵀ Σ⁻¹ (point - mean)
  double SquaredDistance(const Vector<D>& point) const {
    const Vector<D> normalised = SolveLower<D>(cholesky, point - mean);
    double square = 0;
    for (int i = 0; i < D; ++i) square += normalised[i] * normalised[i];
    return square;
  }
};

// InvalidArgument if a value is not finite or a diagonal element of the factor is not positive.
template <int D>
absl::Status Validate(const Gaussian<D>& gaussian) {
  for (int row = 0; row < D; ++row) {
    if (!std::isfinite(gaussian.mean[row])) {
      return absl::InvalidArgumentError(
          absl::StrCat("mean[", row, "] is ", gaussian.mean[row], ", not finite"));
    }
    for (int column = 0; column <= row; ++column) {
      const double element = gaussian.cholesky(row, column);
      if (!std::isfinite(element)) {
        return absl::InvalidArgumentError(
            absl::StrCat("Cholesky factor (", row, ", ", column, ") is ", element, ", not finite"));
      }
    }
    if (!(gaussian.cholesky(row, row) > 0)) {
      return absl::InvalidArgumentError(absl::StrCat("diagonal element ", row, " of the Cholesky factor is ",
                                                     gaussian.cholesky(row, row), ", not positive"));
    }
  }
  return absl::OkStatus();
}

}  // namespace tributary::estimate
