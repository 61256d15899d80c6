// Packs a modulation network for the processor's vector units.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "node/accelerator/modulation_kernels.h"

namespace tributary::accelerator {
namespace {

using Layer = PackedModulation::Layer;

// [outputs × channels × taps] as [outputs × taps × channels].
template <typename FixedOrTrained>
auto ChannelsInnermost(const FixedOrTrained& layer) {
  const fpga::ModulationShape& shape = layer.shape;
  auto weights = layer.weights;
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

// A last group reads up to three words beyond the last row, and a last block writes up to 15.
template <typename Packed, typename Word, typename Sum>
void AllocateBuffers(Packed& packed) {
  std::size_t words = fpga::kModulationInputs;
  std::size_t sums = 0;
  for (const auto& layer : packed.layers) {
    words = std::max(words, layer.shape.outputs * layer.shape.results());
    sums = std::max(sums, layer.weights.width() * std::max(layer.shape.convolved(), kPassBursts));
  }
  for (auto& buffer : packed.words) buffer = Zeros<Word>(kPassBursts * words + kBlockOutputs);
  packed.sums = Zeros<Sum>(sums);
}

}  // namespace

PackedModulation PackModulation(const fpga::Int8Modulation& network) {
  PackedModulation packed;
  packed.quads = TakesQuads();
  packed.input_gain = network.input_gain;
  packed.logit_unit = network.logit_unit;
  for (const fpga::Int8Layer& fixed : network.layers) {
    // Quads take unsigned words; those between layers are never negative.
    const bool samples = packed.layers.empty();
    packed.layers.push_back(PackModulationLayer(fixed, packed.quads, packed.quads && samples ? 128 : 0));
  }
  AllocateBuffers<PackedModulation, std::int16_t, std::int32_t>(packed);
  return packed;
}

PackedFloatModulation PackFloatModulation(const fpga::TrainedModulation& network) {
  PackedFloatModulation packed;
  for (const fpga::TrainedLayer& trained : network.layers) {
    auto weights = Pack<float>(ChannelsInnermost(trained), trained.shape.terms(), 1,
                               [](float& word, float weight, std::size_t) { word = weight; });
    auto bias = Padded<float>(trained.bias, weights.width());
    packed.layers.push_back({.shape = trained.shape, .weights = std::move(weights), .bias = std::move(bias)});
  }
  AllocateBuffers<PackedFloatModulation, float, float>(packed);
  return packed;
}

}  // namespace tributary::accelerator
