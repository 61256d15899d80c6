// A Gaussian estimate of a position in one to three dimensions.
#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "absl/status/status.h"

namespace tributary::estimate {

template <int D>
using Vector = Eigen::Matrix<double, D, 1>;
template <int D>
using Matrix = Eigen::Matrix<double, D, D>;

// Mean and lower Cholesky factor L of the covariance, Σ = L·Lᵀ; both in m. This stores the factor, not the
// covariance: its condition is the square root of the covariance's, which keeps twice the digits.
template <int D>
struct Gaussian {
  static_assert(D >= 1 && D <= 3);

  Vector<D> mean = Vector<D>::Zero();
  Matrix<D> cholesky = Matrix<D>::Identity();  // strictly upper part zero

  // From the wire's order: d values of the mean, d(d+1)/2 rows of the factor (l11, l21, l22, l31, l32, l33).
  static Gaussian FromTuple(const float* mean, const float* cholesky);

  // m²
  Matrix<D> Covariance() const { return cholesky * cholesky.transpose(); }

  // (point - mean)ᵀ Σ⁻¹ (point - mean)
  double SquaredDistance(const Vector<D>& point) const;
};

// InvalidArgument if a value is not finite or a diagonal element of the factor is not positive.
template <int D>
absl::Status Validate(const Gaussian<D>& gaussian);

// Inverse of a lower triangle with a non-zero diagonal, by forward substitution: the error of each element is
// small relative to that element's own sensitivity, whatever the scale of the rows.
template <int D>
Matrix<D> InverseOfLower(const Matrix<D>& lower);

}  // namespace tributary::estimate
