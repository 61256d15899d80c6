// Does an estimate's error agree with the covariance that it claims?
#pragma once

#include "core/estimate/conflation.h"

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
  Matrix<D> root = Matrix<D>::Zero();
  Vector<D> unused = Vector<D>::Zero();
  for (int column = 0; column < D; ++column) {
    RotateInto<D>(root, unused, a.cholesky.col(column), 0);
    RotateInto<D>(root, unused, b.cholesky.col(column), 0);
  }
  return (InverseOfLower<D>(root).transpose() * (a.mean - b.mean)).squaredNorm();
}

}  // namespace tributary::estimate
