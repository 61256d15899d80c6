#include "core/nn/kernel/activate_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nn/kernel/activate_pool.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::nn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;

// Calls visit(offset of the pixel, offset of the pooled pixel) for the first pixel of each 2×2, row by row.
template <class Visit>
HWY_INLINE void ForEachQuad(const PlaneShape& shape, Visit visit) {
  const std::size_t half = shape.side / 2, lanes = shape.lanes();
  for (std::size_t y = 0; y < half; ++y) {
    for (std::size_t x = 0; x < half; ++x) {
      visit(2 * (y * shape.pitch() + x * lanes), (y * (half + 1) + x) * lanes);
    }
  }
}

// The four pixels of 2×2.
struct Quad {
  HWY_INLINE Quad() {}  // GCC gives an implicit one no instruction set on ARM: it could not call V's
  HWY_INLINE Quad(V a, V b, V c, V d) : v{a, b, c, d} {}
  V v[4];
};

HWY_INLINE Quad LoadQuad(D d, const float* x, const PlaneShape& shape) {
  const std::size_t right = shape.lanes(), below = shape.pitch();
  return {hn::Load(d, x), hn::Load(d, x + right), hn::Load(d, x + below), hn::Load(d, x + below + right)};
}

// The factor with which the activation passes on the gradient of factor · peak + term.
HWY_INLINE V PassedGradient(D d, V peak, V factor, V term, V ceiling, const float* gradient) {
  const V y = hn::MulAdd(factor, peak, term);
  return hn::IfThenElseZero(hn::And(hn::Gt(y, hn::Zero(d)), hn::Lt(y, ceiling)), hn::Load(d, gradient));
}

// Sums each row first: the sum of many floats loses less that way.
void Sums(const float* x, const PlaneShape& shape, const ImageSums& sums) {
  const D d;
  for (std::size_t n = 0; n < shape.lanes(); n += hn::Lanes(d)) {
    V sum = hn::Zero(d), squares = hn::Zero(d), magnitude = hn::Zero(d);
    for (std::size_t y = 0; y < shape.side; ++y) {
      V row_sum = hn::Zero(d), row_squares = hn::Zero(d), row_magnitude = hn::Zero(d);
      for (std::size_t i = 0; i < shape.side; ++i) {
        const V value = hn::Load(d, x + y * shape.pitch() + i * shape.lanes() + n);
        row_sum = hn::Add(row_sum, value);
        row_squares = hn::MulAdd(value, value, row_squares);
        row_magnitude = hn::Add(row_magnitude, hn::Abs(value));
      }
      sum = hn::Add(sum, row_sum);
      squares = hn::Add(squares, row_squares);
      magnitude = hn::Add(magnitude, row_magnitude);
    }
    hn::StoreU(sum, d, sums.sum + n);
    hn::StoreU(squares, d, sums.squares + n);
    hn::StoreU(magnitude, d, sums.magnitude + n);
  }
}

// The zeros between the images stay.
void Round(float* x, const PlaneShape& shape, float step, float ceiling) {
  const D d;
  const V per_step = hn::Set(d, 1.0f / step), multiple = hn::Set(d, step), most = hn::Set(d, ceiling);
  for (std::size_t i = 0; i < shape.size(); i += hn::Lanes(d)) {
    const V rounded = hn::Mul(hn::Round(hn::Mul(hn::Load(d, x + i), per_step)), multiple);
    hn::Store(hn::Min(hn::Max(rounded, hn::Zero(d)), most), d, x + i);
  }
}

void Pool(const float* x, const PlaneShape& shape, const NormCoefficients& norm,
          const ClipActivation& activation, float* pooled, float* peaks) {
  const D d;
  const V ceiling = hn::Set(d, activation.ceiling);
  ForEachQuad(shape, [&](std::size_t at, std::size_t pooled_at) {
    for (std::size_t n = 0; n < shape.lanes(); n += hn::Lanes(d)) {
      const Quad quad = LoadQuad(d, x + at + n, shape);
      const V factor = hn::LoadU(d, norm.factor + n);
      // The norm rises or falls with x, rounding included, so one of the extremes gives its maximum.
      const V high = hn::Max(hn::Max(quad.v[0], quad.v[1]), hn::Max(quad.v[2], quad.v[3]));
      const V low = hn::Min(hn::Min(quad.v[0], quad.v[1]), hn::Min(quad.v[2], quad.v[3]));
      const V peak = hn::IfThenElse(hn::Ge(factor, hn::Zero(d)), high, low);
      const V y = hn::MulAdd(factor, peak, hn::LoadU(d, norm.term + n));
      hn::Store(hn::Min(hn::Max(y, hn::Zero(d)), ceiling), d, pooled + pooled_at + n);
      hn::Store(peak, d, peaks + pooled_at + n);
    }
  });
}

void PoolGradientSum(const float* peaks, const PlaneShape& shape, const NormCoefficients& norm,
                     const ClipActivation& activation, const float* gradient, const PoolGradientSums& sums) {
  const D d;
  const V ceiling = hn::Set(d, activation.ceiling);
  for (std::size_t n = 0; n < shape.lanes(); n += hn::Lanes(d)) {
    const V factor = hn::LoadU(d, norm.factor + n), term = hn::LoadU(d, norm.term + n);
    V sum = hn::Zero(d), product = hn::Zero(d);
    for (std::size_t y = 0; y < shape.side; ++y) {
      V row_sum = hn::Zero(d), row_product = hn::Zero(d);
      for (std::size_t i = 0; i < shape.side; ++i) {
        const std::size_t at = y * shape.pitch() + i * shape.lanes() + n;
        const V peak = hn::Load(d, peaks + at);
        const V dy = PassedGradient(d, peak, factor, term, ceiling, gradient + at);
        row_sum = hn::Add(row_sum, dy);
        row_product = hn::MulAdd(dy, peak, row_product);
      }
      sum = hn::Add(sum, row_sum);
      product = hn::Add(product, row_product);
    }
    hn::StoreU(sum, d, sums.sum + n);
    hn::StoreU(product, d, sums.product + n);
  }
}

// A vector of images' coefficients, and the gradient of a pixel that receives none from above.
struct Smooth {
  Smooth(D d, const NormGradientCoefficients& c, std::size_t n)
      : slope(hn::LoadU(d, c.slope + n)), sign(hn::LoadU(d, c.sign + n)), term(hn::LoadU(d, c.term + n)) {}

  HWY_INLINE V At(D d, V x) const {
    const V signed_term = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), sign,
                                         hn::IfThenElseZero(hn::Lt(x, hn::Zero(d)), hn::Neg(sign)));
    return hn::Add(hn::MulAdd(slope, x, term), signed_term);
  }

  V slope, sign, term;
};

void PoolGradient(const float* x, const PlaneShape& shape, const NormCoefficients& norm,
                  const ClipActivation& activation, const float* peaks, const float* gradient,
                  const NormGradientCoefficients& coefficients, float* out) {
  const D d;
  const std::size_t right = shape.lanes(), below = shape.pitch();
  const V ceiling = hn::Set(d, activation.ceiling);
  ForEachQuad(shape, [&](std::size_t at, std::size_t pooled_at) {
    for (std::size_t n = 0; n < shape.lanes(); n += hn::Lanes(d)) {
      const Smooth smooth(d, coefficients, n);
      const Quad quad = LoadQuad(d, x + at + n, shape);
      const V peak = hn::Load(d, peaks + pooled_at + n);
      const V dy = hn::Mul(hn::LoadU(d, coefficients.direct + n),
                           PassedGradient(d, peak, hn::LoadU(d, norm.factor + n), hn::LoadU(d, norm.term + n),
                                          ceiling, gradient + pooled_at + n));
      Quad dx;
      M open = hn::FirstN(d, hn::Lanes(d));  // no pixel has equalled the peak yet
      for (int i = 0; i < 4; ++i) {
        const M here = hn::And(open, hn::Eq(quad.v[i], peak));
        open = hn::AndNot(here, open);
        dx.v[i] = hn::Add(smooth.At(d, quad.v[i]), hn::IfThenElseZero(here, dy));
      }
      float* to = out + at + n;
      hn::Store(dx.v[0], d, to);
      hn::Store(dx.v[1], d, to + right);
      hn::Store(dx.v[2], d, to + below);
      hn::Store(dx.v[3], d, to + below + right);
    }
  });
  if (shape.side % 2 == 0) return;
  // The last row and column, which pooling leaves out.
  const auto pixel = [&](std::size_t at) {
    for (std::size_t n = 0; n < right; n += hn::Lanes(d)) {
      hn::Store(Smooth(d, coefficients, n).At(d, hn::Load(d, x + at + n)), d, out + at + n);
    }
  };
  const std::size_t last = shape.side - 1;
  for (std::size_t i = 0; i < last; ++i) {
    pixel(i * below + last * right);
    pixel(last * below + i * right);
  }
  pixel(last * below + last * right);
}

}  // namespace
}  // namespace tributary::nn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::nn {
namespace {

HWY_EXPORT(Sums);
HWY_EXPORT(Round);
HWY_EXPORT(Pool);
HWY_EXPORT(PoolGradientSum);
HWY_EXPORT(PoolGradient);

}  // namespace

void SumImages(const float* x, const PlaneShape& shape, const ImageSums& sums) {
  HWY_DYNAMIC_DISPATCH(Sums)(x, shape, sums);
}

void RoundAndClip(float* x, const PlaneShape& shape, float step, float ceiling) {
  HWY_DYNAMIC_DISPATCH(Round)(x, shape, step, ceiling);
}

void ActivatePool(const float* x, const PlaneShape& shape, const NormCoefficients& norm,
                  const ClipActivation& activation, float* pooled, float* peak) {
  HWY_DYNAMIC_DISPATCH(Pool)(x, shape, norm, activation, pooled, peak);
}

void SumPoolGradient(const float* peak, const PlaneShape& pooled_shape, const NormCoefficients& norm,
                     const ClipActivation& activation, const float* pooled_gradient,
                     const PoolGradientSums& sums) {
  HWY_DYNAMIC_DISPATCH(PoolGradientSum)(peak, pooled_shape, norm, activation, pooled_gradient, sums);
}

void ActivatePoolGradient(const float* x, const PlaneShape& shape, const NormCoefficients& norm,
                          const ClipActivation& activation, const float* peak, const float* pooled_gradient,
                          const NormGradientCoefficients& coefficients, float* x_gradient) {
  HWY_DYNAMIC_DISPATCH(PoolGradient)
  (x, shape, norm, activation, peak, pooled_gradient, coefficients, x_gradient);
}

}  // namespace tributary::nn
#endif
