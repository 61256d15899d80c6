// Modulation networks on the processor's vector units, chosen at run time (Highway): in 8 bits exactly the
// numbers of fpga/model/modulation_int8.h; in float the last bits may differ from RunTrained.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fpga/model/modulation_int8.h"
#include "fpga/model/modulation_network.h"
#include "node/accelerator/packed_weights.h"

namespace tributary::accelerator {

// Bursts of a pass: a dense layer multiplies them as one batch, and the values of all of them stay in the
// cache.
inline constexpr std::size_t kPassBursts = 8;

// A network and the buffers of a pass. Words between layers are stored [bursts × positions × channels], so
// the inputs of a sum, all channels at neighbouring positions, are neighbours in memory. A convolution is
// then the product of a dense layer whose rows overlap.
struct PackedModulation {
  struct Layer {
    fpga::ModulationShape shape;
    PackedWeights<std::int32_t> weights;            // inputs in the order [taps × channels]
    Aligned<std::int32_t> multiplier;               // [width]
    Aligned<std::int64_t> even_offset, odd_offset;  // of the outputs 0, 2, … and 1, 3, …: [width / 2]
  };

  bool quads = false;  // words of 8 bits in groups of four; else words of 16 bits in pairs
  float input_gain = 0.0f;
  float logit_unit = 0.0f;
  std::vector<Layer> layers;

  Aligned<std::int16_t> words[2];  // inputs and results of a layer, taking turns; bytes with quads
  Aligned<std::int32_t> sums;      // of a convolution, or of the dense layers of a pass
};

// The same in single precision.
struct PackedFloatModulation {
  struct Layer {
    fpga::ModulationShape shape;
    PackedWeights<float> weights;  // inputs in the order [taps × channels]
    Aligned<float> bias;           // [width]
  };

  std::vector<Layer> layers;

  Aligned<float> words[2];  // inputs and results of a layer, taking turns
  Aligned<float> sums;      // of a convolution, or of the dense layers of a pass
};

PackedModulation PackModulation(const fpga::Int8Modulation& network);
// The network is one that fpga::RunTrained takes.
PackedFloatModulation PackFloatModulation(const fpga::TrainedModulation& network);

// Bursts [batch × 256] of unit power to logits [batch × 10], for any batch; NaN for a burst with a sample
// that is not finite.
void RunModulation(PackedModulation& packed, const float* bursts, std::size_t batch, float* logits);
void RunFloatModulation(PackedFloatModulation& packed, const float* bursts, std::size_t batch, float* logits);

}  // namespace tributary::accelerator
