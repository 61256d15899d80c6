#include "core/nn/kernel/sequence_pool.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nn/kernel/sequence_pool.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::nn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::CappedTag<float, kSequenceLanes>;

void Clip(SequenceShape shape, float* x) {
  const Lanes d;
  const auto zero = hn::Zero(d);
  for (std::size_t i = 0; i < shape.size() * kSequenceLanes; i += hn::Lanes(d)) {
    hn::Store(hn::Max(hn::Load(d, x + i), zero), d, x + i);
  }
}

void ClipGradient(SequenceShape shape, const float* clipped, float* gradient) {
  const Lanes d;
  const auto zero = hn::Zero(d);
  for (std::size_t i = 0; i < shape.size() * kSequenceLanes; i += hn::Lanes(d)) {
    const auto open = hn::Gt(hn::Load(d, clipped + i), zero);
    hn::Store(hn::IfThenElseZero(open, hn::Load(d, gradient + i)), d, gradient + i);
  }
}

void Maxima(SequenceShape shape, std::size_t window, const float* x, float* y) {
  const Lanes d;
  for (std::size_t c = 0; c < shape.channels; ++c, x += shape.length * kSequenceLanes) {
    for (std::size_t t = 0; t < shape.length / window; ++t, y += kSequenceLanes) {
      const float* first = x + t * window * kSequenceLanes;
      for (std::size_t n = 0; n < kSequenceLanes; n += hn::Lanes(d)) {
        auto highest = hn::Load(d, first + n);
        for (std::size_t i = 1; i < window; ++i) {
          highest = hn::Max(highest, hn::Load(d, first + i * kSequenceLanes + n));
        }
        hn::Store(highest, d, y + n);
      }
    }
  }
}

void MaximaGradient(SequenceShape shape, std::size_t window, const float* x, const float* y,
                    const float* y_gradient, float* x_gradient) {
  const Lanes d;
  const std::size_t windows = shape.length / window,
                    left_out = (shape.length - windows * window) * kSequenceLanes;
  for (std::size_t c = 0; c < shape.channels; ++c) {
    for (std::size_t t = 0; t < windows; ++t, y += kSequenceLanes, y_gradient += kSequenceLanes) {
      for (std::size_t n = 0; n < kSequenceLanes; n += hn::Lanes(d)) {
        const auto highest = hn::Load(d, y + n);
        auto left = hn::Load(d, y_gradient + n);  // what no step has taken yet
        for (std::size_t i = 0; i < window; ++i) {
          const std::size_t at = (t * window + i) * kSequenceLanes + n;
          const auto here = hn::Eq(hn::Load(d, x + at), highest);
          hn::Store(hn::IfThenElseZero(here, left), d, x_gradient + at);
          left = hn::IfThenZeroElse(here, left);
        }
      }
    }
    x += shape.length * kSequenceLanes;
    x_gradient += shape.length * kSequenceLanes;
    std::fill_n(x_gradient - left_out, left_out, 0.0f);
  }
}

void Means(SequenceShape shape, const float* x, float* y) {
  const Lanes d;
  const auto weight = hn::Set(d, 1.0f / static_cast<float>(shape.length));
  for (std::size_t c = 0; c < shape.channels; ++c, x += shape.length * kSequenceLanes, y += kSequenceLanes) {
    for (std::size_t n = 0; n < kSequenceLanes; n += hn::Lanes(d)) {
      auto sum = hn::Zero(d);
      for (std::size_t t = 0; t < shape.length; ++t)
        sum = hn::Add(sum, hn::Load(d, x + t * kSequenceLanes + n));
      hn::Store(hn::Mul(sum, weight), d, y + n);
    }
  }
}

void MeansGradient(SequenceShape shape, const float* y_gradient, float* x_gradient) {
  const Lanes d;
  const auto weight = hn::Set(d, 1.0f / static_cast<float>(shape.length));
  for (std::size_t c = 0; c < shape.channels; ++c, y_gradient += kSequenceLanes) {
    for (std::size_t t = 0; t < shape.length; ++t, x_gradient += kSequenceLanes) {
      for (std::size_t n = 0; n < kSequenceLanes; n += hn::Lanes(d)) {
        hn::Store(hn::Mul(hn::Load(d, y_gradient + n), weight), d, x_gradient + n);
      }
    }
  }
}

}  // namespace
}  // namespace tributary::nn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::nn {
namespace {

HWY_EXPORT(Clip);
HWY_EXPORT(ClipGradient);
HWY_EXPORT(Maxima);
HWY_EXPORT(MaximaGradient);
HWY_EXPORT(Means);
HWY_EXPORT(MeansGradient);

}  // namespace

void ClipSequences(SequenceShape shape, float* x) { HWY_DYNAMIC_DISPATCH(Clip)(shape, x); }

void ClipSequencesGradient(SequenceShape shape, const float* clipped, float* gradient) {
  HWY_DYNAMIC_DISPATCH(ClipGradient)(shape, clipped, gradient);
}

void MaxPool(SequenceShape shape, std::size_t window, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(Maxima)(shape, window, x, y);
}

void MaxPoolGradient(SequenceShape shape, std::size_t window, const float* x, const float* y,
                     const float* y_gradient, float* x_gradient) {
  HWY_DYNAMIC_DISPATCH(MaximaGradient)(shape, window, x, y, y_gradient, x_gradient);
}

void MeanPool(SequenceShape shape, const float* x, float* y) { HWY_DYNAMIC_DISPATCH(Means)(shape, x, y); }

void MeanPoolGradient(SequenceShape shape, const float* y_gradient, float* x_gradient) {
  HWY_DYNAMIC_DISPATCH(MeansGradient)(shape, y_gradient, x_gradient);
}

}  // namespace tributary::nn
#endif
