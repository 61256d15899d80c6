// Does an estimate's error agree with the covariance that it claims?
#pragma once

#include <Eigen/QR>

#include "core/estimate/gaussian.h"

namespace tributary::estimate {

// Probability that a chi-square variable with 1 to 3 degrees of freedom exceeds x ≥ 0.
double ChiSquareSurvival(int degrees, double x);

// The x that such a variable exceeds with probability 1 - probability. 0 < probability < 1.
double ChiSquareQuantile(int degrees, double probability);

// Normalised innovation squared of two independent estimates: νᵀ(Σ_a + Σ_b)⁻¹ν with ν the difference of their
// means. Chi-square with D degrees of freedom if both are consistent. The sum of the covariances is factored
// by rotations, not formed.
template <int D>
double NormalisedInnovationSquared(const Gaussian<D>& a, const Gaussian<D>& b) {
  Eigen::Matrix<double, 2 * D, D> stacked;
  stacked << a.cholesky.transpose(), b.cholesky.transpose();
  const Eigen::HouseholderQR<Eigen::Matrix<double, 2 * D, D>> qr(stacked);
  const Matrix<D> root = qr.matrixQR().template topRows<D>();
  Vector<D> whitened = a.mean - b.mean;
  root.transpose().template triangularView<Eigen::Lower>().solveInPlace(whitened);
  return whitened.squaredNorm();
}

}  // namespace tributary::estimate
