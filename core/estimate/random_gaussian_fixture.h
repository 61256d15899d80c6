// Random estimates of a given condition and scale, for tests and benchmarks.
#pragma once

#include <Eigen/QR>
#include <cmath>
#include <random>

#include "core/estimate/gaussian.h"

namespace tributary::estimate {

// Standard deviations from `scale` / √condition to `scale` (m) along random orthogonal axes; the mean is
// normally distributed with deviation `spread` (m).
template <int D>
Gaussian<D> RandomGaussian(std::mt19937_64& random, double condition, double scale, double spread) {
  std::normal_distribution<double> normal;
  Matrix<D> draw;
  Gaussian<D> gaussian;
  for (int i = 0; i < D; ++i) {
    gaussian.mean[i] = spread * normal(random);
    for (int j = 0; j < D; ++j) draw(i, j) = normal(random);
  }
  Matrix<D> root = Eigen::HouseholderQR<Matrix<D>>(draw).householderQ();
  for (int axis = 0; axis < D; ++axis) {
    const double share = D == 1 ? 0.0 : static_cast<double>(axis) / (D - 1);
    root.col(axis) *= scale * std::pow(condition, -0.5 * share);
  }
  // rootᵀ = Q·R gives root·rootᵀ = Rᵀ·R: the factor without forming the covariance.
  const Eigen::HouseholderQR<Matrix<D>> qr(root.transpose());
  const Matrix<D> upper = qr.matrixQR().template triangularView<Eigen::Upper>();
  gaussian.cholesky = upper.transpose();
  for (int k = 0; k < D; ++k) {
    if (gaussian.cholesky(k, k) < 0) gaussian.cholesky.col(k) *= -1;
  }
  return gaussian;
}

}  // namespace tributary::estimate
