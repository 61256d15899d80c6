// Products, triangles and roots of matrices of a few rows, as plain loops. Eigen's expressions of the same
// take a compiler many times as long, for each dimension anew.
#pragma once

#include <Eigen/Core>
#include <cmath>

namespace tributary::estimate {

template <int D>
using Vector = Eigen::Matrix<double, D, 1>;
template <int D>
using Matrix = Eigen::Matrix<double, D, D>;

// a · b
template <int R, int K, int C>
Eigen::Matrix<double, R, C> Product(const Eigen::Matrix<double, R, K>& a,
                                    const Eigen::Matrix<double, K, C>& b) {
  Eigen::Matrix<double, R, C> product;
  for (int row = 0; row < R; ++row) {
    for (int column = 0; column < C; ++column) {
      double sum = 0;
      for (int k = 0; k < K; ++k) sum += a(row, k) * b(k, column);
      product(row, column) = sum;
    }
  }
  return product;
}

template <int R, int C>
Eigen::Matrix<double, C, R> Transposed(const Eigen::Matrix<double, R, C>& m) {
  Eigen::Matrix<double, C, R> transposed;
  for (int row = 0; row < R; ++row) {
    for (int column = 0; column < C; ++column) transposed(column, row) = m(row, column);
  }
  return transposed;
}

// a · bᵀ
template <int R, int K, int C>
Eigen::Matrix<double, R, C> TransposedProduct(const Eigen::Matrix<double, R, K>& a,
                                              const Eigen::Matrix<double, C, K>& b) {
  return Product<R, K, C>(a, Transposed<C, K>(b));
}

// Mᵀ · M
template <int D>
Matrix<D> Gram(const Matrix<D>& m) {
  return Product<D, D, D>(Transposed<D, D>(m), m);
}

// The lower triangle L with L·Lᵀ the symmetric positive definite matrix.
template <int D>
Matrix<D> LowerRoot(const Matrix<D>& matrix) {
  Matrix<D> lower = Matrix<D>::Zero();
  for (int column = 0; column < D; ++column) {
    for (int row = column; row < D; ++row) {
      double rest = matrix(row, column);
      for (int k = 0; k < column; ++k) rest -= lower(row, k) * lower(column, k);
      lower(row, column) = row == column ? std::sqrt(rest) : rest / lower(column, column);
    }
  }
  return lower;
}

// L⁻¹·b of a lower triangle with a non-zero diagonal, by forward substitution.
template <int D>
Vector<D> SolveLower(const Matrix<D>& lower, Vector<D> b) {
  for (int row = 0; row < D; ++row) {
    for (int k = 0; k < row; ++k) b[row] -= lower(row, k) * b[k];
    b[row] /= lower(row, row);
  }
  return b;
}

// The error of each element is small relative to that element's own sensitivity, whatever the scale of the
// rows.
template <int D>
Matrix<D> InverseOfLower(const Matrix<D>& lower) {
  Matrix<D> inverse;
  for (int column = 0; column < D; ++column) {
    Vector<D> unit = Vector<D>::Zero();
    unit[column] = 1;
    const Vector<D> solved = SolveLower<D>(lower, unit);
    for (int row = 0; row < D; ++row) inverse(row, column) = solved[row];
  }
  return inverse;
}

}  // namespace tributary::estimate
