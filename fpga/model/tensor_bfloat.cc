#include "fpga/model/tensor_bfloat.h"

#include <algorithm>
#include <bit>

namespace tributary::fpga {
namespace {

constexpr int kActivationRoom = 16;  // bits behind an activation's mantissa
constexpr int kDropped = 6;          // of a group's sum
constexpr int kGuard = 6;            // bits behind an accumulator's mantissa
constexpr int kMostDistance = 31;    // leaves nothing but the sign
constexpr int kSpecial = 255;        // the exponent of infinities and NaN
// A product of exponents e has the unit 2^(e - 268): a bias of 127 and 7 bits behind the point, twice.
// The group's sum has the unit 2^(largest - 268 - 16 + 6), and the accumulator 2^(exponent - 127 - 23 - 6).
constexpr int kUnitDistance = 122;
constexpr int kTopBit = 30;  // both are smaller than 2^30, so their sum has 31 bits

struct Split {
  int exponent;
  std::int64_t mantissa;  // with the sign; 0 for subnormal numbers
};

Split SplitBfloat16(std::uint16_t bits) {
  const int exponent = bits >> 7 & 0xff;
  const std::int64_t mantissa = exponent == 0 ? 0 : 0x80 | (bits & 0x7f);
  return {exponent, (bits & 0x8000) != 0 ? -mantissa : mantissa};
}

Split SplitFloat32(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 23 & 0xff);
  const std::int64_t mantissa = exponent == 0 ? 0 : 0x80'0000 | (bits & 0x7f'ffff);
  return {exponent, (bits & 0x8000'0000) != 0 ? -mantissa : mantissa};
}

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
  constexpr std::uint32_t kInfinite = std::uint32_t{kSpecial} << 23;
  return sign | (rounded >= kInfinite ? kInfinite : static_cast<std::uint32_t>(rounded));
}

}  // namespace

std::uint32_t AddBfloatGroup(std::uint32_t sum, std::span<const std::uint16_t> activations,
                             std::span<const std::uint16_t> weights) {
  const auto exponent_of = [&](std::size_t i) {
    const int activation = SplitBfloat16(activations[i]).exponent,
              weight = SplitBfloat16(weights[i]).exponent;
    return activation == 0 || weight == 0 ? 0 : activation + weight;
  };
  bool nan = false;
  int largest = 0;
  for (std::size_t i = 0; i < activations.size(); ++i) {
    largest = std::max(largest, exponent_of(i));
    nan = nan || SplitBfloat16(activations[i]).exponent == kSpecial ||
          SplitBfloat16(weights[i]).exponent == kSpecial;
  }
  std::int64_t products = 0;
  for (std::size_t i = 0; i < activations.size(); ++i) {
    const int distance = std::min(largest - exponent_of(i), kMostDistance);
    products += ShiftedTowardsZero(SplitBfloat16(activations[i]).mantissa << kActivationRoom, distance) *
                SplitBfloat16(weights[i]).mantissa;
  }
  products >>= kDropped;

  const Split old = SplitFloat32(sum);
  if (nan || (old.exponent == kSpecial && (sum & 0x7f'ffff) != 0)) return kFloat32Nan;
  if (old.exponent == kSpecial) return sum;
  const std::int64_t accumulator = old.mantissa << kGuard;
  const int distance = largest - old.exponent - kUnitDistance;
  constexpr int kAccumulatorTop = kTopBit - 23 - kGuard;
  if (distance >= 0) {
    return RoundToFloat32(products + ShiftedTowardsZero(accumulator, std::min(distance, kMostDistance)),
                          largest - kUnitDistance + kAccumulatorTop);
  }
  return RoundToFloat32(accumulator + (products >> std::min(-distance, kMostDistance)),
                        old.exponent + kAccumulatorTop);
}

std::uint16_t RoundToBfloat16(std::uint32_t bits) {
  const auto upper = static_cast<std::uint16_t>(bits >> 16);
  if ((bits & 0x7fff'ffff) > std::uint32_t{kSpecial} << 23) return (upper & 0x8000) | 0x7fc0;
  const std::uint32_t below = bits & 0xffff;
  const bool up = below > 0x8000 || (below == 0x8000 && (upper & 1) != 0);
  return static_cast<std::uint16_t>(upper + (up ? 1 : 0));
}

std::uint16_t BfloatOutputOf(std::uint32_t sum, std::uint16_t low, std::uint16_t high) {
  const std::uint16_t value = RoundToBfloat16(sum);
  if ((value & 0x7fff) > kBfloat16Infinity) return value;
  const std::uint16_t limit = (value & 0x8000) != 0 ? low : high;
  return (value & 0x7fff) > (limit & 0x7fff) ? limit : value;
}

std::uint16_t Bfloat16Of(float value) { return RoundToBfloat16(std::bit_cast<std::uint32_t>(value)); }

float FloatOf(std::uint16_t bfloat16) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bfloat16) << 16);
}

std::vector<std::uint16_t> Bfloat16sOf(std::span<const float> values) {
  std::vector<std::uint16_t> rounded(values.size());
  std::ranges::transform(values, rounded.begin(), Bfloat16Of);
  return rounded;
}

}  // namespace tributary::fpga
