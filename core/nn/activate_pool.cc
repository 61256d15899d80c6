#include "core/nn/activate_pool.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nn/activate_pool.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;

// The four pixels of each 2×2, a vector of them side by side.
struct Quad {
  V v[4];
};

HWY_INLINE Quad LoadQuad(D d, const float* row, std::size_t pitch) {
  Quad quad;
  hn::LoadInterleaved2(d, row, quad.v[0], quad.v[1]);
  hn::LoadInterleaved2(d, row + pitch, quad.v[2], quad.v[3]);
  return quad;
}

struct Normed {
  Quad y;
  V maximum;
};

HWY_INLINE Normed Norm(D d, const Quad& x, const NormCoefficients& norm) {
  const V factor = hn::Set(d, norm.factor);
  const V term = hn::Set(d, norm.term);
  Normed normed;
  for (int i = 0; i < 4; ++i) normed.y.v[i] = hn::MulAdd(factor, x.v[i], term);
  normed.maximum = hn::Max(hn::Max(normed.y.v[0], normed.y.v[1]), hn::Max(normed.y.v[2], normed.y.v[3]));
  return normed;
}

// The pooled gradient where the activation lets it pass, 0 from the image's end on.
HWY_INLINE V PassedGradient(D d, const Normed& normed, const ClipActivation& activation,
                            const float* gradient, std::size_t valid) {
  const M passes =
      hn::And(hn::Gt(normed.maximum, hn::Zero(d)), hn::Lt(normed.maximum, hn::Set(d, activation.ceiling)));
  return hn::IfThenElseZero(hn::And(passes, hn::FirstN(d, valid)), hn::LoadU(d, gradient));
}

// Calls visit(i, mask): pixel i of the quads holds the first maximum.
template <class Visit>
HWY_INLINE void ForEachFirstMaximum(D d, const Normed& normed, Visit visit) {
  M open = hn::FirstN(d, hn::Lanes(d));
  for (int i = 0; i < 4; ++i) {
    const M here = hn::And(open, hn::Eq(normed.y.v[i], normed.maximum));
    open = hn::AndNot(here, open);
    visit(i, here);
  }
}

void Sums(const float* image, std::size_t size, ImageSums& sums) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V sum = hn::Zero(d), squares = hn::Zero(d), magnitude = hn::Zero(d);
  const auto add = [&](V x) {
    sum = hn::Add(sum, x);
    squares = hn::MulAdd(x, x, squares);
    magnitude = hn::Add(magnitude, hn::Abs(x));
  };
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) add(hn::LoadU(d, image + i));
  if (i < size) add(hn::IfThenElseZero(hn::FirstN(d, size - i), hn::LoadU(d, image + i)));
  sums = {hn::GetLane(hn::SumOfLanes(d, sum)), hn::GetLane(hn::SumOfLanes(d, squares)),
          hn::GetLane(hn::SumOfLanes(d, magnitude))};
}

void Pool(const float* x, std::size_t side, const NormCoefficients& norm, const ClipActivation& activation,
          float* pooled) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t pitch = side + 1, half = side / 2;
  const V ceiling = hn::Set(d, activation.ceiling);
  const V per_step = hn::Set(d, activation.step > 0 ? 1.0f / activation.step : 0.0f);
  const V step = hn::Set(d, activation.step);
  for (std::size_t row = 0; row < half; ++row, x += 2 * pitch, pooled += half + 1) {
    for (std::size_t column = 0; column < half; column += lanes) {
      V y = Norm(d, LoadQuad(d, x + 2 * column, pitch), norm).maximum;
      y = hn::Min(hn::Max(y, hn::Zero(d)), ceiling);
      if (activation.step > 0) y = hn::Mul(hn::Floor(hn::Mul(y, per_step)), step);
      hn::StoreU(hn::IfThenElseZero(hn::FirstN(d, half - column), y), d, pooled + column);
    }
  }
  std::fill_n(pooled, half + 1, 0.0f);
}

void PoolGradientSum(const float* x, std::size_t side, const NormCoefficients& norm,
                     const ClipActivation& activation, const float* gradient, PoolGradientSums& sums) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t pitch = side + 1, half = side / 2;
  V sum = hn::Zero(d), product = hn::Zero(d);
  for (std::size_t row = 0; row < half; ++row, x += 2 * pitch, gradient += half + 1) {
    for (std::size_t column = 0; column < half; column += lanes) {
      const Quad quad = LoadQuad(d, x + 2 * column, pitch);
      const Normed normed = Norm(d, quad, norm);
      const V dy = PassedGradient(d, normed, activation, gradient + column, half - column);
      V at_maximum = hn::Zero(d);
      ForEachFirstMaximum(d, normed,
                          [&](int i, M here) { at_maximum = hn::IfThenElse(here, quad.v[i], at_maximum); });
      sum = hn::Add(sum, dy);
      product = hn::MulAdd(dy, at_maximum, product);
    }
  }
  sums = {hn::GetLane(hn::SumOfLanes(d, sum)), hn::GetLane(hn::SumOfLanes(d, product))};
}

void PoolGradient(const float* x, std::size_t side, const NormCoefficients& norm,
                  const ClipActivation& activation, const float* gradient,
                  const NormGradientCoefficients& coefficients, float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t pitch = side + 1, half = side / 2;
  const V direct = hn::Set(d, coefficients.direct);
  const V slope = hn::Set(d, coefficients.slope);
  const V sign = hn::Set(d, coefficients.sign);
  const V term = hn::Set(d, coefficients.term);
  for (std::size_t row = 0; row < half; ++row, x += 2 * pitch, gradient += half + 1, out += 2 * pitch) {
    // From the right, so that what a row's last vector writes beyond its end is overwritten by whoever owns
    // it.
    for (std::size_t left = (half + lanes - 1) / lanes; left-- > 0;) {
      const std::size_t column = left * lanes;
      const Quad quad = LoadQuad(d, x + 2 * column, pitch);
      const Normed normed = Norm(d, quad, norm);
      const M inside = hn::FirstN(d, half - column);
      const V dy = hn::Mul(direct, PassedGradient(d, normed, activation, gradient + column, half - column));
      Quad dx;
      ForEachFirstMaximum(d, normed, [&](int i, M here) {
        const V signed_term =
            hn::IfThenElse(hn::Gt(quad.v[i], hn::Zero(d)), sign,
                           hn::IfThenElseZero(hn::Lt(quad.v[i], hn::Zero(d)), hn::Neg(sign)));
        const V smooth = hn::Add(hn::MulAdd(slope, quad.v[i], term), signed_term);
        dx.v[i] = hn::IfThenElseZero(inside, hn::Add(smooth, hn::IfThenElseZero(here, dy)));
      });
      hn::StoreInterleaved2(dx.v[0], dx.v[1], d, out + 2 * column);
      hn::StoreInterleaved2(dx.v[2], dx.v[3], d, out + pitch + 2 * column);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tributary
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary {
namespace {

HWY_EXPORT(Sums);
HWY_EXPORT(Pool);
HWY_EXPORT(PoolGradientSum);
HWY_EXPORT(PoolGradient);

}  // namespace

ImageSums SumImage(const float* image, std::size_t size) {
  ImageSums sums;
  HWY_DYNAMIC_DISPATCH(Sums)(image, size, sums);
  return sums;
}

void ActivatePool(const float* x, std::size_t side, const NormCoefficients& norm,
                  const ClipActivation& activation, float* pooled) {
  HWY_DYNAMIC_DISPATCH(Pool)(x, side, norm, activation, pooled);
}

PoolGradientSums SumPoolGradient(const float* x, std::size_t side, const NormCoefficients& norm,
                                 const ClipActivation& activation, const float* pooled_gradient) {
  PoolGradientSums sums;
  HWY_DYNAMIC_DISPATCH(PoolGradientSum)(x, side, norm, activation, pooled_gradient, sums);
  return sums;
}

void ActivatePoolGradient(const float* x, std::size_t side, const NormCoefficients& norm,
                          const ClipActivation& activation, const float* pooled_gradient,
                          const NormGradientCoefficients& coefficients, float* x_gradient) {
  HWY_DYNAMIC_DISPATCH(PoolGradient)
  (x, side, norm, activation, pooled_gradient, coefficients, x_gradient);
  const std::size_t pitch = side + 1;
  if (side % 2 == 0) {
    std::fill_n(x_gradient + side * pitch, pitch, 0.0f);
    return;
  }
  // The last row and column, which pooling leaves out, and the zeros behind them.
  const auto smooth = [&](std::size_t at) {
    const float sign = x[at] > 0 ? 1.0f : x[at] < 0 ? -1.0f : 0.0f;
    x_gradient[at] = coefficients.slope * x[at] + coefficients.sign * sign + coefficients.term;
  };
  const std::size_t last = side - 1;
  for (std::size_t row = 0; row < last; ++row) {
    smooth(row * pitch + last);
    x_gradient[row * pitch + side] = 0;
  }
  for (std::size_t column = 0; column < side; ++column) smooth(last * pitch + column);
  std::fill_n(x_gradient + last * pitch + side, pitch + 1, 0.0f);
}

}  // namespace tributary
#endif
