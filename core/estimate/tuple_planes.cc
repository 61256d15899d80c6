#include "core/estimate/tuple_planes.h"

#include <algorithm>
#include <cmath>
#include <new>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/estimate/tuple_planes.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::estimate {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Lanes with finite values and a positive diagonal. Comparisons are false for NaN.
template <typename V>
HWY_INLINE auto Valid(V x, V y, V l11, V l21, V l22) {
  const hn::DFromV<V> d;
  const auto largest = hn::Set(d, 3.402823466e38f);
  const auto finite_mean = hn::And(hn::Le(hn::Abs(x), largest), hn::Le(hn::Abs(y), largest));
  const auto finite_factor =
      hn::And(hn::And(hn::Le(l11, largest), hn::Le(hn::Abs(l21), largest)), hn::Le(l22, largest));
  const auto positive = hn::And(hn::Gt(l11, hn::Zero(d)), hn::Gt(l22, hn::Zero(d)));
  return hn::And(finite_mean, hn::And(finite_factor, positive));
}

// Writes whole vectors of tuples. The planes' padding makes room for the last one; the caller writes the last
// rows of the inputs. Returns the number of rows taken.
std::size_t LoadWholeVectors(const float* HWY_RESTRICT means, const float* HWY_RESTRICT cholesky,
                             std::size_t n, TuplePlanes& planes, bool& valid) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto good = hn::Eq(hn::Zero(d), hn::Zero(d));
  std::size_t row = 0;
  for (; row + lanes <= n; row += lanes) {
    hn::Vec<decltype(d)> x, y, l11, l21, l22;
    hn::LoadInterleaved2(d, means + 2 * row, x, y);
    hn::LoadInterleaved3(d, cholesky + 3 * row, l11, l21, l22);
    good = hn::And(good, Valid(x, y, l11, l21, l22));
    hn::StoreU(x, d, planes.mean_x() + row);
    hn::StoreU(y, d, planes.mean_y() + row);
    hn::StoreU(l11, d, planes.l11() + row);
    hn::StoreU(l21, d, planes.l21() + row);
    hn::StoreU(l22, d, planes.l22() + row);
  }
  valid = hn::AllTrue(d, good);
  return row;
}

std::size_t StoreWholeVectors(const TuplePlanes& planes, float* HWY_RESTRICT means,
                              float* HWY_RESTRICT cholesky, bool& valid) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto good = hn::Eq(hn::Zero(d), hn::Zero(d));
  std::size_t row = 0;
  for (; row + lanes <= planes.size(); row += lanes) {
    const auto x = hn::LoadU(d, planes.mean_x() + row);
    const auto y = hn::LoadU(d, planes.mean_y() + row);
    const auto l11 = hn::LoadU(d, planes.l11() + row);
    const auto l21 = hn::LoadU(d, planes.l21() + row);
    const auto l22 = hn::LoadU(d, planes.l22() + row);
    good = hn::And(good, Valid(x, y, l11, l21, l22));
    hn::StoreInterleaved2(x, y, d, means + 2 * row);
    hn::StoreInterleaved3(l11, l21, l22, d, cholesky + 3 * row);
  }
  valid = hn::AllTrue(d, good);
  return row;
}

}  // namespace HWY_NAMESPACE
}  // namespace tributary::estimate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::estimate {
namespace {

HWY_EXPORT(LoadWholeVectors);
HWY_EXPORT(StoreWholeVectors);

constexpr std::align_val_t kAlignment{64};

bool ValidTuple(std::size_t dimension, const float* mean, const float* cholesky) {
  bool valid = true;
  for (std::size_t row = 0; row < dimension; ++row) {
    valid &= std::isfinite(mean[row]);
    for (std::size_t column = 0; column <= row; ++column) valid &= std::isfinite(*cholesky++);
    valid &= cholesky[-1] > 0;
  }
  return valid;
}

}  // namespace

void TuplePlanes::AlignedDelete::operator()(float* memory) const { ::operator delete[](memory, kAlignment); }

void TuplePlanes::Resize(std::size_t n) {
  size_ = n;
  stride_ = (n + kPadding - 1) / kPadding * kPadding;
  if (stride_ > capacity_) {
    memory_.reset(static_cast<float*>(::operator new[](5 * stride_ * sizeof(float), kAlignment)));
    capacity_ = stride_;
  }
  FillVague(n, stride_);
}

void TuplePlanes::ResizeVague(std::size_t n) {
  Resize(n);
  FillVague(0, n);
}

void TuplePlanes::FillVague(std::size_t first, std::size_t end) {
  for (float* plane : {mean_x(), mean_y(), l21()}) std::fill(plane + first, plane + end, 0.0f);
  for (float* plane : {l11(), l22()}) std::fill(plane + first, plane + end, kVague);
}

bool TuplePlanes::Load(std::span<const float> means, std::span<const float> cholesky) {
  const std::size_t n = means.size() / 2;
  Resize(n);
  bool valid = true;
  for (std::size_t i = HWY_DYNAMIC_DISPATCH(LoadWholeVectors)(means.data(), cholesky.data(), n, *this, valid);
       i < n; ++i) {
    mean_x()[i] = means[2 * i];
    mean_y()[i] = means[2 * i + 1];
    l11()[i] = cholesky[3 * i];
    l21()[i] = cholesky[3 * i + 1];
    l22()[i] = cholesky[3 * i + 2];
    valid &= ValidTuple(2, &means[2 * i], &cholesky[3 * i]);
  }
  return valid;
}

bool TuplePlanes::Store(std::span<float> means, std::span<float> cholesky) const {
  bool valid = true;
  for (std::size_t i = HWY_DYNAMIC_DISPATCH(StoreWholeVectors)(*this, means.data(), cholesky.data(), valid);
       i < size_; ++i) {
    means[2 * i] = mean_x()[i];
    means[2 * i + 1] = mean_y()[i];
    cholesky[3 * i] = l11()[i];
    cholesky[3 * i + 1] = l21()[i];
    cholesky[3 * i + 2] = l22()[i];
    valid &= ValidTuple(2, &means[2 * i], &cholesky[3 * i]);
  }
  return valid;
}

bool ValidTuples(std::size_t dimension, std::span<const float> means, std::span<const float> cholesky) {
  const std::size_t triangle = dimension * (dimension + 1) / 2;
  bool valid = true;
  for (std::size_t i = 0; i < means.size() / dimension; ++i) {
    valid &= ValidTuple(dimension, &means[i * dimension], &cholesky[i * triangle]);
  }
  return valid;
}

void WidenFactors(float variance, std::span<float> cholesky) {
  if (variance <= 0) return;
  for (std::size_t i = 0; i + 2 < cholesky.size(); i += 3) {
    const float l11 = cholesky[i], l21 = cholesky[i + 1], l22 = cholesky[i + 2];
    const float wider = std::hypot(l11, std::sqrt(variance));
    const float below = l21 * (l11 / wider);
    cholesky[i] = wider;
    cholesky[i + 1] = below;
    // l21² + l22² + variance − below², without the difference of large numbers: l21² (1 − (l11 / wider)²).
    cholesky[i + 2] = std::sqrt(l22 * l22 + variance * (1 + l21 / wider * (l21 / wider)));
  }
}

}  // namespace tributary::estimate
#endif  // HWY_ONCE
