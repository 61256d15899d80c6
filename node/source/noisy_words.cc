#include "node/source/noisy_words.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "node/source/noisy_words.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::source {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE void AddLanes(D df, const std::int16_t* channel, const std::int16_t* noise, float step,
                         float* features) {
  const hn::Rebind<std::int16_t, D> d16;
  const hn::RebindToSigned<D> d32;
  const auto sum = hn::SaturatedAdd(hn::LoadU(d16, channel), hn::LoadU(d16, noise));
  hn::StoreU(hn::Mul(hn::ConvertTo(df, hn::PromoteTo(d32, sum)), hn::Set(df, step)), df, features);
}

void AddNoiseLanes(const std::int16_t* channel, const std::int16_t* noise, std::size_t count, float step,
                   float* features) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) AddLanes(d, channel + i, noise + i, step, features + i);
  for (; i < count; ++i) AddLanes(one, channel + i, noise + i, step, features + i);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tributary::source
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::source {

HWY_EXPORT(AddNoiseLanes);

void AddNoise(const std::int16_t* channel, const std::int16_t* noise, std::size_t count, float step,
              float* features) {
  HWY_DYNAMIC_DISPATCH(AddNoiseLanes)(channel, noise, count, step, features);
}

}  // namespace tributary::source
#endif
