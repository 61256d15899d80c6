// The arithmetic of the tensor unit in float32 (TensorPrecision::kFloat32), bit for bit and in integers only.
//
// Activations, weights, biases, sums and results are float32, all given by their bits. A column of the matrix
// takes the products of one group, the N / 4 rows of a tile, at once:
//   1. Products are exact: two mantissas of 24 bits with their hidden bit. Subnormal operands are zeros.
//   2. The largest exponent of the group's products that are not zero is the common one. A product keeps its
//   30
//      highest bits and is shifted to the right by its distance from the largest one; bits beyond are dropped
//      (floor). The products add up, and the 3 lowest bits of the sum are dropped (floor).
//   3. An accumulator of float32 takes the sum (tensor_float.h). An infinity or NaN among the activations or
//      weights of the group, those with a factor of zero included, makes it NaN.
//
// The error of one group against exact sums, for the largest product p, the old accumulator a and the result
// r, as long as no result overflows (Float32GroupError and those of tensor_float.h):
//   |r - (a + products)| <= (N / 64 + 1)·2^-24 · |p| + 2^-29 · |a| + 2^-24 · |r| + 2^-126
// A product with the largest exponent is at least 2^25 in the unit of the sum. Each cut product loses less
// than 2^-3 of that unit, the sum less than one, and an accumulator that is cut less than one. Sums of
// integers are exact as long as products and sums stay below 2^24.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fpga/model/tensor_program.h"

namespace tributary::fpga {

inline constexpr std::uint32_t kFloat32Infinity = 0x7f80'0000;
inline constexpr std::uint32_t kFloat32MinusInfinity = 0xff80'0000;

// What a command has in word 6 instead of the pad value, which is 0, and TensorOutput. The limits are those
// of LimitedFloat (tensor_float.h), so a low of 0 is ReLU.
struct TensorFloat32Output {
  std::uint32_t low = kFloat32MinusInfinity, high = kFloat32Infinity;
};
TensorFloat32Output Float32Output(const TensorCommand& command);
void SetFloat32Output(const TensorFloat32Output& output, TensorCommand& command);

// The accumulator after one more group; activation i meets weight i. At most 8 of each.
std::uint32_t AddFloat32Group(std::uint32_t sum, std::span<const std::uint32_t> activations,
                              std::span<const std::uint32_t> weights);

// The part of the error's bound that belongs to the largest of `group` products.
constexpr double Float32GroupError(std::size_t group) {
  return (static_cast<double>(group) / 16 + 1.0) / (1 << 24);
}

}  // namespace tributary::fpga
