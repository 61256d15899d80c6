#include "core/estimate/conflation.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status/macros.h"

namespace tributary::estimate {

template <int D>
absl::StatusOr<Information<D>> Information<D>::From(const Gaussian<D>& gaussian) {
  RETURN_IF_ERROR(Validate(gaussian));
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

template <int D>
absl::StatusOr<Gaussian<D>> Conflate(std::span<const Gaussian<D>> inputs) {
  ASSIGN_OR_RETURN(const std::vector<Information<D>> all, InformationOf(inputs, "conflate"));
  Information<D> sum;
  for (const Information<D>& one : all) sum.Add(one);
  return sum.ToGaussian();
}

template class Information<1>;
template class Information<2>;
template class Information<3>;

template absl::StatusOr<std::vector<Information<1>>> InformationOf(std::span<const Gaussian<1>>, const char*);
template absl::StatusOr<std::vector<Information<2>>> InformationOf(std::span<const Gaussian<2>>, const char*);
template absl::StatusOr<std::vector<Information<3>>> InformationOf(std::span<const Gaussian<3>>, const char*);
template absl::StatusOr<Gaussian<1>> Conflate(std::span<const Gaussian<1>>);
template absl::StatusOr<Gaussian<2>> Conflate(std::span<const Gaussian<2>>);
template absl::StatusOr<Gaussian<3>> Conflate(std::span<const Gaussian<3>>);

}  // namespace tributary::estimate
