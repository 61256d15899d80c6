#include "core/scene/gaussian_noise.h"

#include <cstddef>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/scene/gaussian_noise.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h, which it does not include itself.
// clang-format off
#include "hwy/contrib/math/math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace tributary::scene {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// C. Wellons' "lowbias32" integer hash: the least biased of its form that its author found.
template <class V>
HWY_INLINE V Mix32(V x) {
  const hn::DFromV<V> d;
  x = hn::Xor(x, hn::ShiftRight<16>(x));
  x = hn::Mul(x, hn::Set(d, 0x7feb352du));
  x = hn::Xor(x, hn::ShiftRight<15>(x));
  x = hn::Mul(x, hn::Set(d, 0x846ca68bu));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

// Uniform in (0, 1], a multiple of 2^-24.
template <class DF, class V>
HWY_INLINE hn::Vec<DF> Uniform(DF df, V bits) {
  const hn::RebindToSigned<DF> di;
  const auto integer = hn::Add(hn::BitCast(di, hn::ShiftRight<8>(bits)), hn::Set(di, 1));
  return hn::Mul(hn::ConvertTo(df, integer), hn::Set(df, 0x1p-24f));
}

// Numbers 2i and 2i + 1 of the sequence come from pair i; lane order does not matter to the result.
void FillGaussian(std::uint32_t key0, std::uint32_t key1, float* noise, std::size_t count) {
  const hn::ScalableTag<float> df;
  const hn::RebindToUnsigned<decltype(df)> du;
  const std::size_t lanes = hn::Lanes(df);
  HWY_ALIGN float pair[2 * HWY_LANES(float)];
  for (std::size_t i = 0; i < count; i += 2 * lanes) {
    const auto index = hn::Iota(du, static_cast<std::uint32_t>(i / 2));
    const auto first = Mix32(hn::Add(Mix32(hn::Xor(index, hn::Set(du, key0))), hn::Set(du, key1)));
    const auto second = Mix32(hn::Xor(first, hn::Add(index, hn::Set(du, key1 ^ 0x9e3779b9u))));
    const auto radius = hn::Sqrt(hn::Mul(hn::Set(df, -2.0f), hn::Log(df, Uniform(df, first))));
    const auto angle = hn::Mul(Uniform(df, second), hn::Set(df, 2 * std::numbers::pi_v<float>));
    const auto x = hn::Mul(radius, hn::Cos(df, angle));
    const auto y = hn::Mul(radius, hn::Sin(df, angle));
    if (i + 2 * lanes <= count) {
      hn::StoreInterleaved2(x, y, df, noise + i);
      continue;
    }
    hn::StoreInterleaved2(x, y, df, pair);
    for (std::size_t k = 0; i + k < count; ++k) noise[i + k] = pair[k];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tributary::scene
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::scene {

HWY_EXPORT(FillGaussian);

void FillGaussianNoise(std::uint64_t seed, std::uint64_t stream, std::span<float> noise) {
  const std::uint64_t key = MixBits(seed, stream);
  HWY_DYNAMIC_DISPATCH(FillGaussian)
  (static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key), noise.data(), noise.size());
}

}  // namespace tributary::scene
#endif
