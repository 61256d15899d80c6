// Weights in the order in which the kernels of dense_product-inl.h read them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hwy/aligned_allocator.h"

namespace tributary::accelerator {

inline constexpr std::size_t kBlockOutputs = 16;

constexpr std::size_t BlocksOf(std::size_t outputs) { return (outputs + kBlockOutputs - 1) / kBlockOutputs; }

template <typename T>
using Aligned = hwy::AlignedFreeUniquePtr<T[]>;

template <typename T>
Aligned<T> Zeros(std::size_t count) {
  auto values = hwy::AllocateAligned<T>(count);
  std::fill_n(values.get(), count, T{});
  return values;
}

// The values, then zeros up to `width`.
template <typename To, typename From>
Aligned<To> Padded(const std::vector<From>& values, std::size_t width) {
  auto padded = Zeros<To>(width);
  std::ranges::transform(values, padded.get(), [](From v) { return static_cast<To>(v); });
  return padded;
}

// Blocks of 16 outputs; in a block the groups of inputs that one multiply-accumulate instruction takes; in a
// group the 16 outputs. A word holds the weights of one output for a group: a float, two of 16 bits or four
// of 8 bits, the first in the low end. Outputs beyond the layer's have zero weights.
template <typename T>
struct PackedWeights {
  std::size_t groups = 0;  // of inputs, per output
  std::size_t blocks = 0;  // of outputs
  Aligned<T> words;        // [blocks × groups × 16]

  std::size_t width() const { return blocks * kBlockOutputs; }
};

// Whether the processor multiplies unsigned 8-bit inputs by 8-bit weights in groups of four (AVX-512 VNNI).
bool TakesQuads();

// Weights [outputs × inputs] in groups of `group` inputs: add(word, weight, i) puts the weight of the group's
// input i into its word. The inputs that a last group has too many have zero weights.
template <typename T, typename Weight, typename Add>
PackedWeights<T> Pack(const std::vector<Weight>& weights, std::size_t inputs, std::size_t group, Add add) {
  const std::size_t outputs = weights.size() / inputs;
  PackedWeights<T> packed{
      .groups = (inputs + group - 1) / group, .blocks = BlocksOf(outputs), .words = nullptr};
  packed.words = Zeros<T>(packed.groups * packed.width());
  for (std::size_t output = 0; output < outputs; ++output) {
    T* lane =
        packed.words.get() + output / kBlockOutputs * packed.groups * kBlockOutputs + output % kBlockOutputs;
    for (std::size_t input = 0; input < inputs; ++input) {
      add(lane[input / group * kBlockOutputs], weights[output * inputs + input], input % group);
    }
  }
  return packed;
}

// part(weight) in words of `bits` bits.
template <typename Weight, typename Part>
PackedWeights<std::int32_t> PackWords(const std::vector<Weight>& weights, std::size_t inputs, int bits,
                                      Part part) {
  return Pack<std::int32_t>(weights, inputs, 32 / static_cast<std::size_t>(bits),
                            [&](std::int32_t& word, std::int32_t weight, std::size_t i) {
                              const std::uint32_t mask = (std::uint32_t{1} << bits) - 1;
                              word |= static_cast<std::int32_t>((part(weight) & mask)
                                                                << (static_cast<std::size_t>(bits) * i));
                            });
}

}  // namespace tributary::accelerator
