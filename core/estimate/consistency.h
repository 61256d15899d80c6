// Does an estimate's error agree with the covariance that it claims?
#pragma once

#include <cstdint>

#include "core/estimate/conflation.h"

namespace tributary::estimate {

// Probability that a chi-square variable with 1 to 3 degrees of freedom exceeds x ≥ 0.
double ChiSquareSurvival(int degrees, double x);

// The x that such a variable exceeds with probability 1 - probability. 0 < probability < 1.
double ChiSquareQuantile(int degrees, double probability);

// Where a mean of squared distances divided by their dimension lies with a probability of 99.9 %, half of the
// rest on each side, if all estimates are consistent and independent.
struct ConsistencyBand {
  double low = 0;
  double high = 0;
  double tuples = 0;  // (Σ weight)² / Σ weight²: so many of one weight make a mean as exact
};

// By the chi-square distribution with dimension × tuples degrees of freedom [Satterthwaite46]. Its quantiles
// [WilsonHilferty31] make the band wider than exact: by at most 0.05 on each side from 6 degrees on, by 0.01
// from 20. dimension and tuples ≥ 1.
ConsistencyBand ConsistencyBandOf(std::uint32_t dimension, double tuples);

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
