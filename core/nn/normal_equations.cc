#include "core/nn/normal_equations.h"

#include <algorithm>

// Arrays of vectors, which scalable vectors do not allow: arm64 runs the NEON version.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nn/normal_equations.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Upper triangle of rowsᵀ · rows into matrix, rowsᵀ · errors into gradient. Two lines of the matrix at a time
// share the loads of the rows, and their own elements stay in registers.
void AddRows(const double* rows, const double* errors, std::size_t parameters, std::size_t stride,
             double* matrix, double* gradient) {
  constexpr std::size_t kRows = NormalEquations::kRows;
  const hn::CappedTag<double, 8> f64;
  const std::size_t lanes = hn::Lanes(f64);
  for (std::size_t i = 0; i < parameters; i += 2) {
    hn::Vec<decltype(f64)> first[kRows];
    hn::Vec<decltype(f64)> second[kRows];
    for (std::size_t r = 0; r < kRows; ++r) {
      first[r] = hn::Set(f64, rows[r * stride + i]);
      second[r] = hn::Set(f64, rows[r * stride + i + 1]);
    }
    double* place = matrix + i * stride;
    for (std::size_t k = i / lanes * lanes; k < stride; k += lanes) {
      auto sum = hn::Load(f64, place + k);
      auto next = hn::Load(f64, place + stride + k);
      for (std::size_t r = 0; r < kRows; ++r) {
        const auto row = hn::Load(f64, rows + r * stride + k);
        sum = hn::MulAdd(first[r], row, sum);
        next = hn::MulAdd(second[r], row, next);
      }
      hn::Store(sum, f64, place + k);
      hn::Store(next, f64, place + stride + k);
    }
  }
  for (std::size_t k = 0; k < stride; k += lanes) {
    auto sum = hn::Load(f64, gradient + k);
    for (std::size_t r = 0; r < kRows; ++r) {
      sum = hn::MulAdd(hn::Set(f64, errors[r]), hn::Load(f64, rows + r * stride + k), sum);
    }
    hn::Store(sum, f64, gradient + k);
  }
}

}  // namespace tributary::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary {

HWY_EXPORT(AddRows);

NormalEquations::NormalEquations(std::size_t parameters)
    : parameters_(parameters),
      stride_((parameters + 7) / 8 * 8),
      matrix_(hwy::AllocateAligned<double>(stride_ * stride_)),
      gradient_(hwy::AllocateAligned<double>(stride_)) {
  Clear();
}

void NormalEquations::Clear() {
  std::fill_n(matrix_.get(), stride_ * stride_, 0.0);
  std::fill_n(gradient_.get(), stride_, 0.0);
  squared_error_ = 0.0;
}

void NormalEquations::Add(const double* rows, const double* errors) {
  HWY_DYNAMIC_DISPATCH(AddRows)(rows, errors, parameters_, stride_, matrix_.get(), gradient_.get());
  for (std::size_t r = 0; r < kRows; ++r) squared_error_ += errors[r] * errors[r];
}

Eigen::MatrixXd NormalEquations::Matrix() const {
  const auto size = static_cast<Eigen::Index>(parameters_);
  Eigen::MatrixXd matrix(size, size);
  for (std::size_t i = 0; i < parameters_; ++i) {
    for (std::size_t k = i; k < parameters_; ++k) {
      const auto row = static_cast<Eigen::Index>(i);
      const auto column = static_cast<Eigen::Index>(k);
      matrix(row, column) = matrix(column, row) = matrix_[i * stride_ + k];
    }
  }
  return matrix;
}

Eigen::VectorXd NormalEquations::Gradient() const {
  return Eigen::Map<const Eigen::VectorXd>(gradient_.get(), static_cast<Eigen::Index>(parameters_));
}

}  // namespace tributary
#endif
