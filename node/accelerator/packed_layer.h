// Weights in the order that the integer kernels read: blocks of 16 outputs; in a block the groups of 2 or 4
// inputs that one multiply-accumulate instruction takes; in a group the 16 outputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fpga/model/fixed_positioning.h"
#include "hwy/aligned_allocator.h"

namespace tributary::accelerator {

inline constexpr std::size_t kBlockOutputs = 16;

constexpr std::size_t BlocksOf(std::size_t outputs) { return (outputs + kBlockOutputs - 1) / kBlockOutputs; }

// Outputs beyond the layer's have zero weights.
template <typename T>
struct PackedWeights {
  std::size_t groups = 0;                // of inputs, per output
  std::size_t blocks = 0;                // of outputs
  hwy::AlignedFreeUniquePtr<T[]> words;  // [blocks × groups × 16 × inputs per group]
};

// [blocks × inputs/4 × 16 × 4], each weight + 128: the unsigned operand of an 8-bit dot product.
PackedWeights<std::uint8_t> PackQuads(const fpga::FixedDense& dense);

// [blocks × inputs/2 × 16 × 2], weights of at most 8 bits as they are.
PackedWeights<std::int16_t> PackPairs(const fpga::FixedDense& dense);

// The same for 16-bit weights, split as weight = 256 · high + low, low in 0…255, so that sums over 256 inputs
// of either part fit 32 bits.
PackedWeights<std::int16_t> PackHighPairs(const fpga::FixedDense& dense);
PackedWeights<std::int16_t> PackLowPairs(const fpga::FixedDense& dense);

}  // namespace tributary::accelerator
