#include "aggregator/learning/round/accumulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/status/macros.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aggregator/learning/round/accumulator.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::learning {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Floats of the sum that are asked for ahead of their use: 2 KiB. The processor's own prefetching stops at
// the end of each page; with this the sum from cache-hot chunks is made 15 % faster.
constexpr std::size_t kPrefetchAhead = 512;

// One vector of words: sum ± round(values · factor), modulo 2^32. Returns whether all values were in range.
template <bool kSubtract, class D>
hn::Mask<D> AddScaled(D d, const float* HWY_RESTRICT values, hn::Vec<D> factor, hn::Vec<D> bound,
                      float* HWY_RESTRICT sum) {
  const hn::RebindToSigned<D> di;
  const auto value = hn::LoadU(d, values);
  const auto word = hn::NearestInt(hn::Mul(value, factor));
  const auto before = hn::BitCast(di, hn::LoadU(d, sum));
  const auto after = kSubtract ? hn::Sub(before, word) : hn::Add(before, word);
  hn::StoreU(hn::BitCast(d, after), d, sum);
  return hn::Le(hn::Abs(value), bound);  // false for NaN
}

template <bool kSubtract>
bool AddScaledAll(const float* HWY_RESTRICT values, std::size_t n, float factor, float bound,
                  float* HWY_RESTRICT sum) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const std::size_t lanes = hn::Lanes(d);
  const auto factors = hn::Set(d, factor);
  const auto bounds = hn::Set(d, bound);
  auto good = hn::Eq(bounds, bounds);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hwy::Prefetch(sum + i + kPrefetchAhead);
    good = hn::And(good, AddScaled<kSubtract>(d, values + i, factors, bounds, sum + i));
  }
  bool rest = true;
  for (; i < n; ++i) {
    rest &= hn::AllTrue(
        one, AddScaled<kSubtract>(one, values + i, hn::Set(one, factor), hn::Set(one, bound), sum + i));
  }
  return rest && hn::AllTrue(d, good);
}

// `subtract`: undoes what the same values have added.
bool AddScaledBlock(const float* values, std::size_t n, float factor, float bound, bool subtract,
                    float* sum) {
  return subtract ? AddScaledAll<true>(values, n, factor, bound, sum)
                  : AddScaledAll<false>(values, n, factor, bound, sum);
}

template <class D>
void AddWords(D d, const std::int32_t* HWY_RESTRICT words, float* HWY_RESTRICT sum) {
  const hn::RebindToSigned<D> di;
  const auto before = hn::BitCast(di, hn::LoadU(d, sum));
  hn::StoreU(hn::BitCast(d, hn::Add(before, hn::LoadU(di, words))), d, sum);
}

void AddAllWords(const std::int32_t* HWY_RESTRICT words, std::size_t n, float* HWY_RESTRICT sum) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) AddWords(d, words + i, sum + i);
  for (; i < n; ++i) AddWords(one, words + i, sum + i);
}

template <class D>
void Scale(D d, float factor, float* sum) {
  const hn::RebindToSigned<D> di;
  hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::BitCast(di, hn::LoadU(d, sum))), hn::Set(d, factor)), d, sum);
}

void ScaleAll(std::size_t n, float factor, float* sum) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) Scale(d, factor, sum + i);
  for (; i < n; ++i) Scale(one, factor, sum + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace tributary::learning
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::learning {

HWY_EXPORT(AddScaledBlock);
HWY_EXPORT(AddAllWords);
HWY_EXPORT(ScaleAll);

Accumulator::Accumulator(std::size_t element_count)
    : element_count_(element_count),
      words_(hwy::AllocateAligned<float>(std::max<std::size_t>(element_count, 1))) {}

void Accumulator::Start(const parameters::FixedPoint& fixed_point) {
  std::memset(words_.get(), 0, element_count_ * sizeof(float));
  fixed_point_ = fixed_point;
  started_ = true;
}

absl::Status Accumulator::CheckPlace(std::size_t offset, std::size_t count) const {
  if (!started_) return absl::FailedPreconditionError("the accumulator holds no sum of a round");
  if (offset > element_count_ || count > element_count_ - offset) {
    return absl::OutOfRangeError(
        fmt::format("{} elements at {}, the model has {}", count, offset, element_count_));
  }
  return absl::OkStatus();
}

absl::Status Accumulator::Add(std::size_t offset, std::span<const float> values, double weight) {
  RETURN_IF_ERROR(CheckPlace(offset, values.size()));
  const float factor = parameters::FixedPointFactor(fixed_point_, weight);
  if (!(weight > 0) || !std::isfinite(factor)) {
    return absl::OutOfRangeError(fmt::format("weight {}, expected a positive number", weight));
  }
  const auto apply = [&](bool subtract) {
    return HWY_DYNAMIC_DISPATCH(AddScaledBlock)(values.data(), values.size(), factor, fixed_point_.bound,
                                                subtract, words_.get() + offset);
  };
  if (apply(false)) return absl::OkStatus();
  // Checked on the way, not ahead: one pass over memory. What was added comes off exactly, NaN included, for
  // the same values give the same words.
  apply(true);
  if (parameters::CheckRange(values, fixed_point_.bound) == parameters::RangeCheck::kNotFinite) {
    return absl::InvalidArgumentError(fmt::format("a value from element {} on is not finite", offset));
  }
  return absl::OutOfRangeError(
      fmt::format("a value from element {} on exceeds {} in magnitude", offset, fixed_point_.bound));
}

absl::Status Accumulator::AddFixed(std::size_t offset, std::span<const std::int32_t> words) {
  RETURN_IF_ERROR(CheckPlace(offset, words.size()));
  HWY_DYNAMIC_DISPATCH(AddAllWords)(words.data(), words.size(), words_.get() + offset);
  return absl::OkStatus();
}

absl::Status Accumulator::Read(std::size_t offset, std::span<std::int32_t> words) const {
  RETURN_IF_ERROR(CheckPlace(offset, words.size()));
  if (!words.empty()) std::memcpy(words.data(), words_.get() + offset, words.size_bytes());
  return absl::OkStatus();
}

absl::StatusOr<std::span<float>> Accumulator::TakeMean(double total_weight) {
  RETURN_IF_ERROR(CheckPlace(0, 0));
  const double factor = 1 / (total_weight * fixed_point_.scale());
  if (!(total_weight > 0) || !std::isfinite(total_weight) || !std::isfinite(factor)) {
    return absl::InvalidArgumentError(
        fmt::format("total weight {}, expected a positive number", total_weight));
  }
  started_ = false;
  HWY_DYNAMIC_DISPATCH(ScaleAll)(element_count_, static_cast<float>(factor), words_.get());
  return std::span<float>(words_.get(), element_count_);
}

}  // namespace tributary::learning
#endif  // HWY_ONCE
