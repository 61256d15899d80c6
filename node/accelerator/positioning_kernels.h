// The positioning network on the processor's vector units, chosen at run time (Highway). In fixed point
// exactly the numbers of fpga/model; in float the last bits may differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fpga/model/positioning_model.h"
#include "node/accelerator/packed_weights.h"

namespace tributary::accelerator {

// A network in fixed point and the buffers for a batch of up to max_batch subjects.
struct PackedFixed {
  struct Layer {
    // 16-bit weights are split as weight = 256 · high + low, low in 0…255, so that sums over 256 inputs of
    // either part fit 32 bits. `high` is empty for 8-bit weights.
    PackedWeights<std::int32_t> low, high;
  };

  fpga::FixedPositioning network;
  std::array<Layer, 4> layers;
  Aligned<std::int32_t> norm_scale, norm_offset;  // [width of layer 1]
  Aligned<std::int32_t> quad_offset;              // [width of layer 1]; null if its inputs are pairs

  Aligned<std::uint8_t> bytes;                        // [max_batch × 1024], inputs of quads
  Aligned<std::int16_t> words;                        // [max_batch × 1024], inputs of pairs
  Aligned<std::int16_t> results[2];                   // [max_batch × width of layer 1], taking turns
  Aligned<std::int32_t> sums, high, low, remainders;  // [max_batch × width of layer 1]
  std::vector<char> finite;                           // [max_batch]
};

// A network in single precision and its buffers.
struct PackedFloat {
  fpga::PositioningInput input;
  std::array<PackedWeights<float>, 4> layers;
  Aligned<float> norm_scale, norm_offset;  // [width of layer 1]

  Aligned<float> values[2];  // [max_batch × 1024], taking turns
  std::vector<char> finite;  // [max_batch]
};

// Raw features [batch × 1024] to outputs [batch × 5]; NaN for a subject with a value that is not finite.
void RunFixed(PackedFixed& packed, const float* features, std::size_t batch, float* outputs);
void RunFloat(PackedFloat& packed, const float* features, std::size_t batch, float* outputs);

// Phase-aligns and standardises one subject's features [1024], and quantises them to 8-bit words [1024].
// False if a value is not finite; `words` is unspecified then.
bool PrepareInput(const fpga::PositioningInput& input, const float* features, std::int8_t* words);

}  // namespace tributary::accelerator
