#include "node/accelerator/packed_layer.h"

#include <algorithm>

namespace tributary::accelerator {
namespace {

// Layer widths are multiples of 4, so that no group is cut.
template <typename T, std::size_t kGroup, typename Convert>
PackedWeights<T> Pack(const fpga::FixedDense& dense, Convert convert) {
  PackedWeights<T> packed{
      .groups = dense.inputs / kGroup, .blocks = BlocksOf(dense.outputs), .words = nullptr};
  const std::size_t size = packed.blocks * packed.groups * kBlockOutputs * kGroup;
  packed.words = hwy::AllocateAligned<T>(size);
  std::fill_n(packed.words.get(), size, convert(0));
  for (std::size_t output = 0; output < dense.outputs; ++output) {
    T* block = packed.words.get() + output / kBlockOutputs * packed.groups * kBlockOutputs * kGroup;
    for (std::size_t input = 0; input < dense.inputs; ++input) {
      const std::size_t lane = input / kGroup * kBlockOutputs + output % kBlockOutputs;
      block[lane * kGroup + input % kGroup] = convert(dense.weights[output * dense.inputs + input]);
    }
  }
  return packed;
}

}  // namespace

PackedWeights<std::uint8_t> PackQuads(const fpga::FixedDense& dense) {
  return Pack<std::uint8_t, 4>(dense, [](std::int32_t w) { return static_cast<std::uint8_t>(w + 128); });
}

PackedWeights<std::int16_t> PackPairs(const fpga::FixedDense& dense) {
  return Pack<std::int16_t, 2>(dense, [](std::int32_t w) { return static_cast<std::int16_t>(w); });
}

PackedWeights<std::int16_t> PackHighPairs(const fpga::FixedDense& dense) {
  return Pack<std::int16_t, 2>(dense, [](std::int32_t w) { return static_cast<std::int16_t>(w >> 8); });
}

PackedWeights<std::int16_t> PackLowPairs(const fpga::FixedDense& dense) {
  return Pack<std::int16_t, 2>(dense, [](std::int32_t w) { return static_cast<std::int16_t>(w & 255); });
}

}  // namespace tributary::accelerator
