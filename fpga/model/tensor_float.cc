#include "fpga/model/tensor_float.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace tributary::fpga {
namespace {

constexpr int kGuard = 6;    // bits behind an accumulator's mantissa
constexpr int kTopBit = 30;  // both are smaller than 2^30, so their sum has 31 bits

std::int64_t ShiftedTowardsZero(std::int64_t value, int distance) {
  return value < 0 ? -(-value >> distance) : value >> distance;
}

// `exponent`: float32's, for a value whose highest bit is kTopBit.
std::uint32_t RoundToFloat32(std::int64_t value, int exponent) {
  if (value == 0) return 0;
  const std::uint32_t sign = value < 0 ? 0x8000'0000 : 0;
  const auto magnitude = static_cast<std::uint32_t>(value < 0 ? -value : value);
  const int zeros = std::countl_zero(magnitude) - (31 - kTopBit);
  const std::uint32_t normal = magnitude << zeros;
  constexpr int kBelow = kTopBit - 23;
  const std::uint32_t mantissa = normal >> kBelow;
  const bool half = (normal >> (kBelow - 1) & 1) != 0;
  const bool rest = (normal & ((1u << (kBelow - 1)) - 1)) != 0;
  // A mantissa that becomes 2^24 carries into the exponent.
  const std::int64_t rounded =
      (std::int64_t{exponent - zeros - 1} << 23) + mantissa + (half && (rest || (mantissa & 1) != 0) ? 1 : 0);
  if (rounded < std::int64_t{1} << 23) return 0;
  constexpr std::uint32_t kInfinite = std::uint32_t{kFloatSpecial} << 23;
  return sign | (rounded >= kInfinite ? kInfinite : static_cast<std::uint32_t>(rounded));
}

}  // namespace

std::uint32_t AddFloatGroup(std::uint32_t accumulator, const FloatGroup& group) {
  const SplitFloat old = SplitFloatOf(accumulator);
  if (group.special || (old.exponent == kFloatSpecial && (accumulator & 0x7f'ffff) != 0)) return kFloat32Nan;
  if (old.exponent == kFloatSpecial) return accumulator;
  const std::int64_t guarded = old.mantissa << kGuard;
  const int ahead = group.exponent - old.exponent, distance = std::min(std::abs(ahead), kMostFloatDistance);
  constexpr int kAccumulatorTop = kTopBit - 23 - kGuard;
  return ahead >= 0 ? RoundToFloat32(group.sum + ShiftedTowardsZero(guarded, distance),
                                     group.exponent + kAccumulatorTop)
                    : RoundToFloat32(guarded + (group.sum >> distance), old.exponent + kAccumulatorTop);
}

}  // namespace tributary::fpga
