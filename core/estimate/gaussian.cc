#include "core/estimate/gaussian.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace tributary::estimate {

template <int D>
Gaussian<D> Gaussian<D>::FromTuple(const float* mean, const float* cholesky) {
  Gaussian gaussian;
  gaussian.cholesky.setZero();
  for (int row = 0; row < D; ++row) {
    gaussian.mean[row] = mean[row];
    for (int column = 0; column <= row; ++column) gaussian.cholesky(row, column) = *cholesky++;
  }
  return gaussian;
}

template <int D>
double Gaussian<D>::SquaredDistance(const Vector<D>& point) const {
  Vector<D> whitened = point - mean;
  cholesky.template triangularView<Eigen::Lower>().solveInPlace(whitened);
  return whitened.squaredNorm();
}

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

template <int D>
Matrix<D> InverseOfLower(const Matrix<D>& lower) {
  Matrix<D> inverse = Matrix<D>::Zero();
  for (int column = 0; column < D; ++column) {
    inverse(column, column) = 1 / lower(column, column);
    for (int row = column + 1; row < D; ++row) {
      double sum = 0;
      for (int k = column; k < row; ++k) sum += lower(row, k) * inverse(k, column);
      inverse(row, column) = -sum / lower(row, row);
    }
  }
  return inverse;
}

template struct Gaussian<1>;
template struct Gaussian<2>;
template struct Gaussian<3>;
template absl::Status Validate(const Gaussian<1>&);
template absl::Status Validate(const Gaussian<2>&);
template absl::Status Validate(const Gaussian<3>&);
template Matrix<1> InverseOfLower<1>(const Matrix<1>&);
template Matrix<2> InverseOfLower<2>(const Matrix<2>&);
template Matrix<3> InverseOfLower<3>(const Matrix<3>&);

}  // namespace tributary::estimate
