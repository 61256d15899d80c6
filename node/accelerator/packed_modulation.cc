// Packs a modulation network for the processor's vector units.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "node/accelerator/modulation_kernels.h"

namespace tributary::accelerator {
namespace {

using Layer = PackedModulation::Layer;

// [outputs × channels × taps] as [outputs × taps × channels].
std::vector<std::int8_t> ChannelsInnermost(const fpga::Int8Layer& layer) {
  const fpga::ModulationShape& shape = layer.shape;
  std::vector<std::int8_t> weights(layer.weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t output = i / shape.terms(), channel = i / shape.taps % shape.channels;
    weights[output * shape.terms() + i % shape.taps * shape.channels + channel] = layer.weights[i];
  }
  return weights;
}

// `shift` was added to every input word.
Layer PackModulationLayer(const fpga::Int8Layer& fixed, bool quads, std::int64_t shift) {
  Layer layer{.shape = fixed.shape,
              .weights = PackWords(ChannelsInnermost(fixed), fixed.shape.terms(), quads ? 8 : 16,
                                   [](std::int32_t weight) { return weight; }),
              .multiplier = nullptr,
              .even_offset = nullptr,
              .odd_offset = nullptr};
  layer.multiplier = Padded<std::int32_t>(fixed.multiplier, layer.weights.width());
  layer.even_offset = Zeros<std::int64_t>(layer.weights.width() / 2);
  layer.odd_offset = Zeros<std::int64_t>(layer.weights.width() / 2);
  for (std::size_t output = 0; output < fixed.shape.outputs; ++output) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < fixed.shape.terms(); ++i) {
      sum += fixed.weights[output * fixed.shape.terms() + i];
    }
    const auto& offsets = output % 2 == 0 ? layer.even_offset : layer.odd_offset;
    offsets[output / 2] = fixed.offset[output] - shift * sum * fixed.multiplier[output];
  }
  return layer;
}

}  // namespace

PackedModulation PackModulation(const fpga::Int8Modulation& network) {
  constexpr std::size_t kBursts = PackedModulation::kPassBursts;
  PackedModulation packed;
  packed.quads = TakesQuads();
  packed.input_gain = network.input_gain;
  packed.logit_unit = network.logit_unit;
  std::size_t words = fpga::kModulationInputs;
  std::size_t sums = 0;
  for (const fpga::Int8Layer& fixed : network.layers) {
    // Quads take unsigned words; those between layers are never negative.
    const bool samples = packed.layers.empty();
    packed.layers.push_back(PackModulationLayer(fixed, packed.quads, packed.quads && samples ? 128 : 0));
    words = std::max(words, fixed.shape.outputs * fixed.shape.results());
    sums = std::max(sums, packed.layers.back().weights.width() * std::max(fixed.shape.convolved(), kBursts));
  }
  // A last group reads up to three words beyond the last row, and a last block writes up to 15.
  for (auto& buffer : packed.words) buffer = Zeros<std::int16_t>(kBursts * words + kBlockOutputs);
  packed.sums = Zeros<std::int32_t>(sums);
  return packed;
}

}  // namespace tributary::accelerator
