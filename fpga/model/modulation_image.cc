#include "fpga/model/modulation_image.h"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::fpga {
namespace {

constexpr std::size_t kWordPositions = 16;
constexpr std::size_t kStoreWords = 512;
constexpr std::size_t kSampleWords = 32;  // two bursts, at the beginning of the store
// From the last step of a layer to the first step of the next, and from the last step of all to the next
// burst.
constexpr std::size_t kLayerGap = 13;
constexpr std::size_t kBurstGap = 2;

std::size_t CeilDivide(std::size_t value, std::size_t by) { return (value + by - 1) / by; }

// A last layer whose weights do not depend on the tap: the sum of its taps is a sum of positions.
bool IsMean(const Int8Layer& layer) {
  const ModulationShape& shape = layer.shape;
  if (shape.convolved() != 1 || shape.taps > kWordPositions) return false;
  for (std::size_t i = 0; i < layer.weights.size(); ++i) {
    if (layer.weights[i] != layer.weights[i / shape.taps * shape.taps]) return false;
  }
  return true;
}

// How the engine runs a layer: passes of `steps` rows of weights, one row per channel and tap.
struct Passes {
  Passes(const Int8Layer& layer, bool last, const ModulationParallelism& parallelism)
      : channels(2 * parallelism.columns), sums(last && IsMean(layer) ? layer.shape.taps : 1) {
    const ModulationShape& shape = layer.shape;
    taps = shape.taps / sums;
    steps = std::max(channels, CeilDivide(shape.channels * taps, 4) * 4);
    groups = CeilDivide(shape.results() * (shape.pool ? 2 : 1), kWordPositions);
    blocks = CeilDivide(shape.outputs, channels);
    result_stride = CeilDivide(shape.results(), kWordPositions);
  }

  std::size_t channels;  // of a block
  std::size_t sums;      // positions that are added up
  std::size_t taps = 0, steps = 0, groups = 0, blocks = 0;
  std::size_t result_stride = 0;  // words per channel
};

std::vector<Passes> PassesOf(const Int8Modulation& network, const ModulationParallelism& parallelism) {
  std::vector<Passes> passes;
  for (const Int8Layer& layer : network.layers) {
    passes.emplace_back(layer, &layer == &network.layers.back(), parallelism);
  }
  return passes;
}

// One layer's word of the program: fields from the low end, as modulation_sequence.sv has them.
std::uint64_t LayerWord(const ModulationShape& shape, const Passes& passes, std::size_t input,
                        std::size_t results, bool last) {
  std::uint64_t word = 0;
  int used = 0;
  const auto put = [&](std::size_t value, int bits) {
    word |= static_cast<std::uint64_t>(value) << used;
    used += bits;
  };
  put(input, 9);
  put(CeilDivide(shape.positions, kWordPositions) - 1, 4);
  put(shape.channels - 1, 7);
  put(passes.taps - 1, 6);
  put(passes.groups - 1, 4);
  put(passes.blocks - 1, 3);
  put(results, 9);
  put(passes.result_stride - 1, 4);
  put(passes.sums - 1, 4);
  put(shape.pool ? 1 : 0, 1);
  put(last ? 1 : 0, 1);
  return word;
}

// Neighbouring layers stand at both ends of the store.
void PutProgram(const Int8Modulation& network, std::span<const Passes> passes,
                std::vector<std::uint64_t>& words) {
  std::size_t input = 0;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const std::size_t size = passes[i].blocks * passes[i].channels * passes[i].result_stride;
    const std::size_t results = i % 2 == 0 ? kSampleWords : kStoreWords - size;
    words.push_back(
        LayerWord(network.layers[i].shape, passes[i], input, results, i + 1 == network.layers.size()));
    input = results;
  }
  words.resize(kModulationLayers);
}

void PutScales(const Int8Modulation& network, std::span<const Passes> passes,
               std::vector<std::uint64_t>& words) {
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Int8Layer& layer = network.layers[i];
    const std::size_t end = words.size() + passes[i].blocks * passes[i].channels;
    for (std::size_t output = 0; output < layer.shape.outputs; ++output) {
      words.push_back(static_cast<std::uint64_t>(layer.multiplier[output]) |
                      static_cast<std::uint64_t>(layer.offset[output]) << (64 - Int8Layer::kOffsetBits));
    }
    words.resize(end);
  }
  words.resize(kModulationLayers + kModulationScales);
}

// The weights of one step. The upper one of a pair is less by one where the lower one is negative
// (modulation_column.sv).
void PutRow(const Int8Layer& layer, const Passes& passes, std::size_t block, std::size_t step,
            std::vector<std::uint64_t>& words) {
  const auto weight = [&](std::size_t channel) -> std::int8_t {
    const std::size_t output = block * passes.channels + channel;
    if (output >= layer.shape.outputs || step >= layer.shape.channels * passes.taps) return 0;
    return layer.weights[output * layer.shape.terms() + step * passes.sums];
  };
  for (std::size_t first = 0; first < passes.channels; first += 8) {
    std::uint64_t word = 0;
    for (std::size_t pair = 0; pair < 4; ++pair) {
      const std::int8_t lower = weight(first + 2 * pair);
      const auto upper = static_cast<std::int8_t>(weight(first + 2 * pair + 1) - (lower < 0 ? 1 : 0));
      word |= std::uint64_t{static_cast<std::uint8_t>(lower)} << (16 * pair);
      word |= std::uint64_t{static_cast<std::uint8_t>(upper)} << (16 * pair + 8);
    }
    words.push_back(word);
  }
}

}  // namespace

std::size_t ModulationCycles(const Int8Modulation& network, const ModulationParallelism& parallelism) {
  std::size_t cycles = kBurstGap + (network.layers.size() - 1) * kLayerGap;
  for (const Passes& passes : PassesOf(network, parallelism)) {
    cycles += passes.blocks * passes.groups * passes.steps;
  }
  return cycles;
}

absl::StatusOr<std::vector<std::uint64_t>> ModulationParameterWords(
    const Int8Modulation& network, const ModulationParallelism& parallelism) {
  const std::vector<Passes> passes = PassesOf(network, parallelism);
  std::size_t scales = 0;
  std::size_t rows = 0;
  for (const Passes& layer : passes) {
    scales += layer.blocks * layer.channels;
    rows += layer.blocks * layer.steps;
  }
  if (network.layers.size() > kModulationLayers || scales > kModulationScales || rows > parallelism.rows) {
    return absl::InvalidArgumentError(fmt::format(
        "modulation network: {} layers, {} channels in whole passes and {} rows of weights; the logic "
        "has {}, {} and {}",
        network.layers.size(), scales, rows, kModulationLayers, kModulationScales, parallelism.rows));
  }
  std::vector<std::uint64_t> words;
  words.reserve(ModulationParameterWordCount(parallelism));
  PutProgram(network, passes, words);
  PutScales(network, passes, words);
  for (std::size_t i = 0; i < passes.size(); ++i) {
    for (std::size_t block = 0; block < passes[i].blocks; ++block) {
      for (std::size_t step = 0; step < passes[i].steps; ++step) {
        PutRow(network.layers[i], passes[i], block, step, words);
      }
    }
  }
  words.resize(ModulationParameterWordCount(parallelism));
  return words;
}

void ModulationBurstWords(std::span<const std::int8_t> burst, std::span<std::uint64_t> words) {
  std::ranges::fill(words, 0);
  for (std::size_t i = 0; i < burst.size(); ++i) {
    words[i / 8] |= std::uint64_t{static_cast<std::uint8_t>(burst[i])} << (i % 8 * 8);
  }
}

}  // namespace tributary::fpga
