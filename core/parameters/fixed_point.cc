#include "core/parameters/fixed_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/parameters/fixed_point.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::parameters {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

bool AllWithin(const float* HWY_RESTRICT values, std::size_t n, float bound) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto limit = hn::Set(d, bound);
  auto good = hn::Eq(limit, limit);
  std::size_t i = 0;
  // Comparisons are false for NaN.
  for (; i + lanes <= n; i += lanes) good = hn::And(good, hn::Le(hn::Abs(hn::LoadU(d, values + i)), limit));
  bool rest = true;
  for (; i < n; ++i) rest &= std::fabs(values[i]) <= bound;
  return rest && hn::AllTrue(d, good);
}

template <class D>
void Convert(D d, const float* values, float factor, std::int32_t* words) {
  const hn::RebindToSigned<D> di;
  hn::StoreU(hn::NearestInt(hn::Mul(hn::LoadU(d, values), hn::Set(d, factor))), di, words);
}

void ConvertAll(const float* HWY_RESTRICT values, std::size_t n, float factor,
                std::int32_t* HWY_RESTRICT words) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) Convert(d, values + i, factor, words + i);
  for (; i < n; ++i) Convert(one, values + i, factor, words + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace tributary::parameters
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::parameters {

HWY_EXPORT(AllWithin);
HWY_EXPORT(ConvertAll);

double FixedPoint::scale() const { return std::ldexp(1.0, fraction_bits); }

// A word is off by half a unit from rounding and by one part in 2^23 from the two roundings of the factor and
// of the product, in float; 64-bit words are rounded in double.
constexpr double kRounding = 1 + 0x1p-22;

double FixedPoint::LargestWord(double total_weight, std::size_t contributions) const {
  return bound * total_weight * scale() * kRounding + static_cast<double>(contributions);
}

absl::StatusOr<FixedPoint> FixedPoint::For(double bound, double total_weight, std::size_t contributions,
                                           int word_bits) {
  constexpr std::size_t kMaxContributions = 1 << 16;
  const double largest = bound * total_weight;
  if (!(bound > 0) || !(total_weight > 0) || !std::isfinite(largest) || !(bound <= 1e30)) {
    return absl::InvalidArgumentError(
        fmt::format("no fixed point for a bound of {} and a total weight of {}", bound, total_weight));
  }
  if (contributions < 1 || contributions > kMaxContributions) {
    return absl::InvalidArgumentError(
        fmt::format("{} contributions, expected 1 to {}", contributions, kMaxContributions));
  }
  const double room = (std::ldexp(1.0, word_bits - 1) - 1 - static_cast<double>(contributions)) / kRounding;
  FixedPoint result{.word_bits = word_bits};
  result.fraction_bits = static_cast<int>(std::floor(std::log2(room / largest)));
  while (std::ldexp(largest, result.fraction_bits) > room) --result.fraction_bits;
  result.bound = static_cast<float>(bound);
  if (result.bound > bound) result.bound = std::nextafter(result.bound, 0.0f);
  return result;
}

RangeCheck CheckRange(std::span<const float> values, float bound) {
  if (HWY_DYNAMIC_DISPATCH(AllWithin)(values.data(), values.size(), bound)) return RangeCheck::kGood;
  const bool finite =
      std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  return finite ? RangeCheck::kOutOfRange : RangeCheck::kNotFinite;
}

void ToFixedPoint(std::span<const float> values, float factor, std::span<std::int32_t> words) {
  HWY_DYNAMIC_DISPATCH(ConvertAll)
  (values.data(), std::min(values.size(), words.size()), factor, words.data());
}

float FixedPointFactor(const FixedPoint& fixed_point, double weight) {
  return static_cast<float>(weight * fixed_point.scale());
}

}  // namespace tributary::parameters
#endif  // HWY_ONCE
