#include "core/estimate/information.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tributary::estimate {
namespace {

// Below this share of a squared diagonal element, what remains after a withdrawal is rounding error: a few
// additions and withdrawals of D rows leave up to about this many half-units in the last place.
constexpr double kRoundingShare = 256 * std::numeric_limits<double>::epsilon();

}  // namespace

template <int D>
absl::StatusOr<Information<D>> Information<D>::From(const Gaussian<D>& gaussian) {
  if (absl::Status status = Validate(gaussian); !status.ok()) return status;
  Information information;
  information.root_ = InverseOfLower<D>(gaussian.cholesky);
  information.rhs_ = information.root_ * gaussian.mean;
  if (!information.root_.allFinite() || !information.rhs_.allFinite()) {
    return absl::InvalidArgumentError("the information is beyond the range of double");
  }
  return information;
}

template <int D>
void Information<D>::Add(const Information& other, double weight) {
  const double scale = std::sqrt(weight);
  residual_ += weight * other.residual_;
  for (int row = D - 1; row >= 0; --row) {
    AddRow(scale * other.root_.row(row).transpose(), scale * other.rhs_[row]);
  }
}

template <int D>
void Information<D>::AddRow(Vector<D> row, double rhs) {
  for (int k = D - 1; k >= 0; --k) {
    if (row[k] == 0) continue;
    const double radius = std::hypot(root_(k, k), row[k]);
    const double cosine = root_(k, k) / radius;
    const double sine = row[k] / radius;
    root_(k, k) = radius;
    for (int j = 0; j < k; ++j) {
      const double kept = root_(k, j);
      root_(k, j) = cosine * kept + sine * row[j];
      row[j] = cosine * row[j] - sine * kept;
    }
    const double kept = rhs_[k];
    rhs_[k] = cosine * kept + sine * rhs;
    rhs = cosine * rhs - sine * kept;
  }
  residual_ += rhs * rhs;
}

template <int D>
absl::Status Information<D>::Withdraw(const Information& other) {
  Information remaining = *this;
  remaining.residual_ -= other.residual_;
  for (int row = 0; row < D; ++row) {
    if (!remaining.WithdrawRow(other.root_.row(row).transpose(), other.rhs_[row])) {
      return absl::FailedPreconditionError("what would remain after the withdrawal is not positive definite");
    }
  }
  remaining.residual_ = std::max(remaining.residual_, 0.0);
  *this = remaining;
  return absl::OkStatus();
}

// Chambers' form: the kept row is computed first, and the running row from it, which makes the pair
// relationally stable.
template <int D>
bool Information<D>::WithdrawRow(Vector<D> row, double rhs) {
  for (int k = D - 1; k >= 0; --k) {
    const double diagonal = root_(k, k);
    const double squared = (diagonal - row[k]) * (diagonal + row[k]);
    if (!(squared > kRoundingShare * diagonal * diagonal)) return false;
    const double radius = std::sqrt(squared);
    const double cosine = radius / diagonal;
    const double sine = row[k] / diagonal;
    root_(k, k) = radius;
    for (int j = 0; j < k; ++j) {
      root_(k, j) = (root_(k, j) - sine * row[j]) / cosine;
      row[j] = cosine * row[j] - sine * root_(k, j);
    }
    rhs_[k] = (rhs_[k] - sine * rhs) / cosine;
    rhs = cosine * rhs - sine * rhs_[k];
  }
  residual_ -= rhs * rhs;
  return true;
}

template <int D>
absl::StatusOr<Gaussian<D>> Information<D>::ToGaussian() const {
  for (int k = 0; k < D; ++k) {
    if (!(root_(k, k) > 0)) return absl::FailedPreconditionError("the information is not positive definite");
  }
  Gaussian<D> gaussian;
  gaussian.cholesky = InverseOfLower<D>(root_);
  gaussian.mean = root_.template triangularView<Eigen::Lower>().solve(rhs_);
  return gaussian;
}

template class Information<1>;
template class Information<2>;
template class Information<3>;

}  // namespace tributary::estimate
