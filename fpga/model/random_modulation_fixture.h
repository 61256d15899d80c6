// Networks for modulation recognition with random weights and fitting ranges, for tests without training.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "fpga/model/modulation_image.h"
#include "fpga/model/modulation_int8.h"
#include "fpga/model/modulation_network.h"

namespace tributary::fpga {

// Bursts [count × 256] of white noise of unit power.
inline std::vector<float> RandomBursts(std::mt19937_64& random, std::size_t count) {
  std::normal_distribution<float> sample(0.0f, std::sqrt(0.5f));
  std::vector<float> bursts(count * kModulationInputs);
  std::generate(bursts.begin(), bursts.end(), [&] { return sample(random); });
  return bursts;
}

// Fills the weights and sets the ranges by eight random bursts.
inline void Randomise(std::mt19937_64& random, TrainedModulation& network) {
  for (TrainedLayer& layer : network.layers) {
    std::normal_distribution<float> weight(0.0f, std::sqrt(2.0f / static_cast<float>(layer.shape.terms())));
    layer.weights.resize(layer.shape.outputs * layer.shape.terms());
    std::generate(layer.weights.begin(), layer.weights.end(), [&] { return weight(random); });
    std::normal_distribution<float> bias(0.0f, 0.2f);
    std::generate(layer.bias.begin(), layer.bias.end(), [&] { return bias(random); });
  }
  (void)Calibrate(RandomBursts(random, 8), network);
}

inline TrainedModulation RandomTable4(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TrainedModulation network = EmptyTable4();
  Randomise(random, network);
  return network;
}

// 2 → 24 → 24 → 32 channels, each pooled, then the mean of 11 positions: 8,858 parameters.
inline TrainedModulation RandomCompact(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TrainedModulation network{.input_range = 1.0f, .layers = {}};
  constexpr ModulationShape kShapes[] = {
      {.channels = 2, .positions = 128, .taps = 12, .outputs = 24, .pool = true},
      {.channels = 24, .positions = 58, .taps = 7, .outputs = 24, .pool = true},
      {.channels = 24, .positions = 26, .taps = 5, .outputs = 32, .pool = true},
      {.channels = 32, .positions = 11, .taps = 11, .outputs = 10, .pool = false}};
  for (const ModulationShape& shape : kShapes) {
    network.layers.push_back(
        {.shape = shape, .weights = {}, .bias = std::vector<float>(shape.outputs), .range = 1.0f});
  }
  Randomise(random, network);
  TrainedLayer& mean = network.layers.back();
  for (std::size_t i = 0; i < mean.weights.size(); ++i) {
    mean.weights[i] = mean.weights[i / mean.shape.taps * mean.shape.taps];
  }
  (void)Calibrate(RandomBursts(random, 8), network);
  return network;
}

// Any shape that the logic can run: 2 to 8 layers, taps up to 64, with and without pooling and biases.
inline TrainedModulation RandomModulation(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto between = [&](std::size_t low, std::size_t high) { return low + random() % (high - low + 1); };
  while (true) {
    TrainedModulation network{.input_range = 1.0f, .layers = {}};
    std::size_t channels = kModulationChannels;
    std::size_t positions = kModulationSamples;
    const std::size_t most_outputs = random() % 2 == 0 ? 12 : 40;  // many layers must be narrow ones
    while (network.layers.size() < kModulationLayers) {
      const bool last = positions <= 64 && channels * positions <= 512 && random() % 3 == 0;
      ModulationShape shape{.channels = channels, .positions = positions};
      shape.taps = last ? positions : between(1, std::min<std::size_t>({64, positions, 512 / channels}));
      shape.outputs = last ? kModulationClasses : between(1, most_outputs);
      shape.pool = !last && shape.convolved() >= 2 && random() % 3 != 0;
      network.layers.push_back({.shape = shape,
                                .weights = {},
                                .bias = std::vector<float>(random() % 2 == 0 ? shape.outputs : 0),
                                .range = 1.0f});
      if (last) break;
      channels = shape.outputs;
      positions = shape.results();
    }
    Randomise(random, network);
    const absl::StatusOr<Int8Modulation> fixed = MakeInt8Modulation(network);
    if (fixed.ok() && ModulationParameterWords(*fixed).ok() &&
        ModulationParameterWords(*fixed, {.columns = 8, .rows = 2048}).ok()) {
      return network;
    }
  }
}

// Every weight at an end of its range, some multipliers and offsets too: the largest sums, and in the logic
// the packed products come as close to each other as they can.
inline void MakeExtreme(std::mt19937_64& random, Int8Modulation& network) {
  for (Int8Layer& layer : network.layers) {
    for (std::int8_t& weight : layer.weights) weight = random() % 2 == 0 ? 127 : -127;
    for (std::int32_t& multiplier : layer.multiplier) {
      if (random() % 4 == 0) multiplier = (1 << Int8Layer::kMultiplierBits) - 1;
    }
    for (std::int64_t& offset : layer.offset) {
      if (random() % 8 == 0) offset = (std::int64_t{1} << 45) - 1;
      if (random() % 8 == 0) offset = -(std::int64_t{1} << 45);
    }
  }
}

}  // namespace tributary::fpga
