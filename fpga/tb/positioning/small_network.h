// A smaller network with the sizes of the small instance, for benches and for the synthesised netlist.
#pragma once

#include <array>
#include <random>

#include "fpga/tb/positioning/positioning_bench.h"

namespace tributary::fpga {

// As in positioning_small.sv.
inline constexpr std::array<std::size_t, 5> kSmallWidths = {64, 16, 7, 4, 3};
inline constexpr PositioningParallelism kSmallParallelism = {.first_layer_inputs = 16,
                                                             .third_layer_inputs = 2};

// Random words at their full width, and shifts that bring some results to the ends of their range. Extreme:
// all weights at the ends, too. In some networks one stage has the largest shift, which leaves of its sum at
// most the rounding.
inline FixedPositioning SmallNetwork(std::mt19937& random, bool extreme) {
  FixedPositioning fixed;
  for (std::size_t layer = 0; layer < fixed.dense.size(); ++layer) {
    FixedDense& dense = fixed.dense[layer];
    dense.inputs = kSmallWidths[layer];
    dense.outputs = kSmallWidths[layer + 1];
    dense.weight_bits = layer == 0 ? 8 : 16;
    dense.result_bits = 16;
    dense.rectified = layer < 3;
    dense.shift = layer == 0 ? static_cast<int>(1 + random() % 6) : static_cast<int>(8 + random() % 10);
    const std::int32_t limit = layer == 0 ? 127 : 32767;
    dense.weights = extreme ? ExtremeWords(random, dense.inputs * dense.outputs, -limit, limit)
                            : RandomWords(random, dense.inputs * dense.outputs, -limit, limit);
  }
  fixed.batch_norm.scale_bits = 16;
  fixed.batch_norm.result_bits = 16;
  fixed.batch_norm.shift = static_cast<int>(10 + random() % 8);
  fixed.batch_norm.scale = RandomWords(random, kSmallWidths[1], -32767, 32767);
  for (const std::int32_t offset : RandomWords(random, kSmallWidths[1], -(1 << 29) + 1, (1 << 29) - 1)) {
    fixed.batch_norm.offset.push_back(offset);
  }
  // A bit less than the width of the stage's sum (requantise.sv).
  switch (random() % 10) {
    case 0:
      fixed.dense[0].shift = 31;
      break;
    case 1:
      fixed.batch_norm.shift = 31;
      break;
    case 2:
      fixed.dense[3].shift = 38;
      break;
    default:
      break;
  }
  return fixed;
}

}  // namespace tributary::fpga
