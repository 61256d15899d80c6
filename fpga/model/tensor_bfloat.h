// The arithmetic of the tensor unit in bfloat16 (TensorPrecision::kBfloat16), bit for bit and in integers
// only.
//
// Activations and weights are bfloat16, sums and biases float32, all given by their bits. A column of the
// matrix takes the products of one group, the N / 2 rows of a tile, at once:
//   1. Products are exact: two mantissas of 8 bits with their hidden bit. Subnormal operands are zeros.
//   2. The largest exponent of the group's products that are not zero is the common one. The size of an
//      activation gets 16 more bits and is shifted to the right by the distance of its product; bits beyond
//      are dropped. The products then add up without a further error, and the 6 lowest bits of the sum are
//      dropped (floor).
//   3. An accumulator of float32 takes the sum (tensor_float.h). An infinity or NaN among the activations or
//      weights of the group, those with a factor of zero included, makes it NaN.
//
// The error of one group against exact sums, for the largest product p, the old accumulator a and the result
// r, as long as no result overflows (BfloatGroupError and those of tensor_float.h):
//   |r - (a + products)| <= ((N / 2 + 0.5)·2^-22) · |p| + 2^-29 · |a| + 2^-24 · |r| + 2^-126
// Sums of integers up to 2^8 times such integers are exact as long as they stay below 2^24.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::fpga {

inline constexpr std::uint16_t kBfloat16Infinity = 0x7f80;
inline constexpr std::uint16_t kBfloat16MinusInfinity = 0xff80;

// The accumulator after one more group; activation i meets weight i. At most 16 of each.
std::uint32_t AddBfloatGroup(std::uint32_t sum, std::span<const std::uint16_t> activations,
                             std::span<const std::uint16_t> weights);

// The part of the error's bound that belongs to the largest of `group` products.
constexpr double BfloatGroupError(std::size_t group) {
  return (static_cast<double>(group) + 0.5) / (1 << 22);
}

// float32 to bfloat16, halves to even; every NaN becomes 0x7fc0 with its sign.
std::uint16_t RoundToBfloat16(std::uint32_t bits);

// The output stage: rounded, then limited (LimitedFloat).
std::uint16_t BfloatOutputOf(std::uint32_t sum, std::uint16_t low, std::uint16_t high);

// Values of the host.
std::uint16_t Bfloat16Of(float value);
float FloatOf(std::uint16_t bfloat16);
std::vector<std::uint16_t> Bfloat16sOf(std::span<const float> values);

}  // namespace tributary::fpga
