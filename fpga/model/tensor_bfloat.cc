#include "fpga/model/tensor_bfloat.h"

#include <algorithm>
#include <bit>

#include "fpga/model/tensor_float.h"

namespace tributary::fpga {
namespace {

constexpr int kActivationRoom = 16;  // bits behind an activation's mantissa
constexpr int kDropped = 6;          // of a group's sum
// A product of exponents e has the unit 2^(e - 268): a bias of 127 and 7 bits behind the point, twice.
// The group's sum has the unit 2^(largest - 268 - 16 + 6), and the accumulator 2^(exponent - 127 - 23 - 6).
constexpr int kUnitDistance = 122;

}  // namespace

std::uint32_t AddBfloatGroup(std::uint32_t sum, std::span<const std::uint16_t> activations,
                             std::span<const std::uint16_t> weights) {
  FloatGroup group =
      SumFloatProducts(activations, weights, [](std::int64_t activation, std::int64_t weight, int distance) {
        return activation * (1 << kActivationRoom) / (std::int64_t{1} << distance) * weight;  // towards zero
      });
  group.sum >>= kDropped;
  group.exponent -= kUnitDistance;
  return AddFloatGroup(sum, group);
}

std::uint16_t RoundToBfloat16(std::uint32_t bits) {
  const auto upper = static_cast<std::uint16_t>(bits >> 16);
  if ((bits & 0x7fff'ffff) > std::uint32_t{kFloatSpecial} << 23) return (upper & 0x8000) | 0x7fc0;
  const std::uint32_t below = bits & 0xffff;
  const bool up = below > 0x8000 || (below == 0x8000 && (upper & 1) != 0);
  return static_cast<std::uint16_t>(upper + (up ? 1 : 0));
}

std::uint16_t BfloatOutputOf(std::uint32_t sum, std::uint16_t low, std::uint16_t high) {
  return LimitedFloat(RoundToBfloat16(sum), low, high);
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
