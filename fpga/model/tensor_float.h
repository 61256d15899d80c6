// The accumulators of float32 that the tensor unit has in bfloat16 and in float32, bit for bit and in
// integers only. Both precisions give them the sum of a group of products in fixed point:
//   1. Group and accumulator, which gets 6 more bits, meet at the larger of their exponents. The other one is
//      shifted to the right; bits beyond are dropped, for the group as floor does it, for the accumulator
//      from its size. Then both are added.
//   2. The result is normalised once and rounded to float32, halves to even. Results below 2^-126 are +0,
//      those of 2^128 and more infinity. A zero is always +0.
//   3. A group with an infinity or NaN, or a NaN in the accumulator gives NaN (0x7fc00000). An infinite
//      accumulator otherwise stays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::fpga {

inline constexpr std::uint32_t kFloat32Nan = 0x7fc0'0000;
inline constexpr int kFloatSpecial = 255;      // the exponent of infinities and NaN
inline constexpr int kMostFloatDistance = 31;  // a shift that leaves nothing but the sign

// The products of a group as one sum: `sum` · 2^(exponent - 156), whose size is below 2^30.
struct FloatGroup {
  std::int64_t sum = 0;
  int exponent = 0;      // that of an accumulator with the same unit
  bool special = false;  // an infinity or NaN is among the factors
};

// The accumulator after one more group.
std::uint32_t AddFloatGroup(std::uint32_t accumulator, const FloatGroup& group);

// The error of one such addition against exact sums: these times the sizes of accumulator and result, and
// kTensorLeastResult.
inline constexpr double kTensorAccumulatorError = 1.0 / (1 << 29);
inline constexpr double kTensorResultError = 1.0 / (1 << 24);
inline constexpr double kTensorLeastResult = 0x1p-126;

// A number as mantissa · 2^(exponent - 127 - bits behind the point), with the sign in the mantissa; 0 for
// subnormal numbers.
struct SplitFloat {
  int exponent = 0;
  std::int64_t mantissa = 0;
};
template <typename Bits>
SplitFloat SplitFloatOf(Bits bits) {
  constexpr int kBehind = 8 * sizeof(Bits) - 9;
  const int exponent = static_cast<int>(bits >> kBehind & 0xff);
  const std::int64_t size = exponent == 0 ? 0 : 1 << kBehind | (bits & ((1 << kBehind) - 1));
  return {exponent, bits >> (kBehind + 8) != 0 ? -size : size};
}

// The products of a group: `product` has two mantissas and how far their product lies below the largest one,
// and gives what it adds to the sum. `exponent` becomes the largest sum of two exponents whose product is not
// 0.
template <typename Bits, typename Product>
FloatGroup SumFloatProducts(std::span<const Bits> activations, std::span<const Bits> weights,
                            Product product) {
  const auto exponent_of = [&](std::size_t i) {
    const int activation = SplitFloatOf(activations[i]).exponent, weight = SplitFloatOf(weights[i]).exponent;
    return activation == 0 || weight == 0 ? 0 : activation + weight;
  };
  FloatGroup group;
  for (std::size_t i = 0; i < activations.size(); ++i) {
    group.exponent = std::max(group.exponent, exponent_of(i));
    group.special = group.special || SplitFloatOf(activations[i]).exponent == kFloatSpecial ||
                    SplitFloatOf(weights[i]).exponent == kFloatSpecial;
  }
  for (std::size_t i = 0; i < activations.size(); ++i) {
    group.sum += product(SplitFloatOf(activations[i]).mantissa, SplitFloatOf(weights[i]).mantissa,
                         std::min(group.exponent - exponent_of(i), kMostFloatDistance));
  }
  return group;
}

// A limit for a value of either sign: the exponent's and the mantissa's bits of `value` are compared with
// those of `low` if it is negative, else with those of `high`; a larger value becomes the limit, sign
// included. So 0 for `low` is ReLU. NaN stays NaN. `Bits`: uint16_t for bfloat16, uint32_t for float32.
template <typename Bits>
Bits LimitedFloat(Bits value, Bits low, Bits high) {
  constexpr int kWidth = 8 * sizeof(Bits);
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (kWidth - 1));
  constexpr auto kInfinity = static_cast<Bits>(Bits{kFloatSpecial} << (kWidth - 9));
  const auto size_of = [](Bits bits) { return static_cast<Bits>(bits & ~kSign); };
  if (size_of(value) > kInfinity) return value;
  const Bits limit = (value & kSign) != 0 ? low : high;
  return size_of(value) > size_of(limit) ? limit : value;
}

}  // namespace tributary::fpga
