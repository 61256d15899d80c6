#include "fpga/model/modulation_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/status/macros.h"

namespace tributary::fpga {
namespace {

constexpr std::size_t kMaxLayers = 8;
constexpr std::size_t kMaxTaps = 64;
constexpr std::size_t kMaxChannels = 128;
constexpr std::size_t kMaxTerms = 512;
constexpr std::size_t kMaxWords = 480;
constexpr std::size_t kPositionsOfAWord = 16;

absl::Status LayerFault(std::size_t layer, std::string_view fault) {
  return absl::InvalidArgumentError(fmt::format("modulation network, layer {}: {}", layer + 1, fault));
}

absl::Status CheckShape(std::size_t layer, const ModulationShape& shape) {
  if (shape.taps < 1 || shape.taps > kMaxTaps || shape.taps > shape.positions) {
    return LayerFault(layer, fmt::format("{} taps on {} positions; at most {} taps are possible", shape.taps,
                                         shape.positions, kMaxTaps));
  }
  if (shape.outputs < 1 || shape.outputs > kMaxChannels || shape.channels > kMaxChannels) {
    return LayerFault(layer, fmt::format("{} channels, {} outputs, not 1 … {}", shape.channels, shape.outputs,
                                         kMaxChannels));
  }
  if (shape.terms() > kMaxTerms) {
    return LayerFault(layer, fmt::format("a sum of {} products, more than {}", shape.terms(), kMaxTerms));
  }
  if (shape.results() == 0) return LayerFault(layer, "nothing is left after pooling");
  // The logic stores whole passes of 16 or 24 channels.
  const auto words = [](std::size_t channels, std::size_t positions) {
    return std::max((channels + 15) / 16 * 16, (channels + 23) / 24 * 24) *
           ((positions + kPositionsOfAWord - 1) / kPositionsOfAWord);
  };
  if (words(shape.channels, shape.positions) + words(shape.outputs, shape.results()) > kMaxWords) {
    return LayerFault(layer, fmt::format("inputs and results need more than {} words", kMaxWords));
  }
  return absl::OkStatus();
}

absl::Status CheckLayer(std::size_t index, const TrainedLayer& layer) {
  const ModulationShape& shape = layer.shape;
  if (layer.weights.size() != shape.outputs * shape.terms()) {
    return LayerFault(
        index, fmt::format("{} weights instead of {}", layer.weights.size(), shape.outputs * shape.terms()));
  }
  if (!layer.bias.empty() && layer.bias.size() != shape.outputs) {
    return LayerFault(index, fmt::format("{} biases for {} outputs", layer.bias.size(), shape.outputs));
  }
  const auto finite = [](float value) { return std::isfinite(value); };
  if (!std::ranges::all_of(layer.weights, finite) || !std::ranges::all_of(layer.bias, finite)) {
    return LayerFault(index, "a weight is not finite");
  }
  if (!(layer.range > 0.0f) || !std::isfinite(layer.range)) {
    return LayerFault(index, "its range is not positive and finite");
  }
  return absl::OkStatus();
}

// Sums and biases of a layer, before rectification: [outputs × convolved].
std::vector<float> ConvolveTrained(const TrainedLayer& layer, std::span<const float> input) {
  const ModulationShape& shape = layer.shape;
  const std::size_t convolved = shape.convolved();
  std::vector<float> sums(shape.outputs * convolved);
  for (std::size_t output = 0; output < shape.outputs; ++output) {
    const std::span<float> row = std::span(sums).subspan(output * convolved, convolved);
    std::ranges::fill(row, layer.bias.empty() ? 0.0f : layer.bias[output]);
    for (std::size_t term = 0; term < shape.terms(); ++term) {
      const float weight = layer.weights[output * shape.terms() + term];
      const float* from = &input[term / shape.taps * shape.positions + term % shape.taps];
      for (std::size_t i = 0; i < convolved; ++i) row[i] += weight * from[i];
    }
  }
  return sums;
}

std::vector<float> RectifyAndPool(const ModulationShape& shape, std::span<const float> sums) {
  const std::size_t results = shape.results();
  const std::size_t step = shape.pool ? 2 : 1;
  std::vector<float> pooled(shape.outputs * results);
  for (std::size_t i = 0; i < pooled.size(); ++i) {
    const float* from = &sums[i / results * shape.convolved() + i % results * step];
    pooled[i] = std::max(0.0f, shape.pool ? std::max(from[0], from[1]) : from[0]);
  }
  return pooled;
}

float LargestOf(std::span<const float> values, float least) {
  for (const float value : values) least = std::max(least, std::abs(value));
  return least;
}

}  // namespace

absl::Status CheckTrained(const TrainedModulation& network) {
  if (network.layers.empty() || network.layers.size() > kMaxLayers) {
    return absl::InvalidArgumentError(
        fmt::format("modulation network: {} layers, not 1 … {}", network.layers.size(), kMaxLayers));
  }
  if (!(network.input_range > 0.0f) || !std::isfinite(network.input_range)) {
    return absl::InvalidArgumentError("modulation network: the input's range is not positive and finite");
  }
  std::size_t channels = kModulationChannels;
  std::size_t positions = kModulationSamples;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const ModulationShape& shape = network.layers[i].shape;
    if (shape.channels != channels || shape.positions != positions) {
      return LayerFault(i, fmt::format("its input is {} × {}, but it is given {} × {}", shape.channels,
                                       shape.positions, channels, positions));
    }
    RETURN_IF_ERROR(CheckShape(i, shape));
    RETURN_IF_ERROR(CheckLayer(i, network.layers[i]));
    channels = shape.outputs;
    positions = shape.results();
  }
  if (channels != kModulationClasses || positions != 1 || network.layers.back().shape.pool) {
    return LayerFault(network.layers.size() - 1, fmt::format("it gives {} × {} results instead of {}",
                                                             channels, positions, kModulationClasses));
  }
  return absl::OkStatus();
}

TrainedModulation EmptyTable4() {
  constexpr ModulationShape kShapes[] = {
      {.channels = 2, .positions = 128, .taps = 8, .outputs = 32, .pool = true},
      {.channels = 32, .positions = 60, .taps = 16, .outputs = 16, .pool = true},
      {.channels = 16, .positions = 22, .taps = 22, .outputs = 64},
      {.channels = 64, .positions = 1, .taps = 1, .outputs = 32},
      {.channels = 32, .positions = 1, .taps = 1, .outputs = 10}};
  TrainedModulation network{.input_range = 1.0f, .layers = {}};
  for (const ModulationShape& shape : kShapes) {
    network.layers.push_back({.shape = shape,
                              .weights = std::vector<float>(shape.outputs * shape.terms()),
                              .bias = std::vector<float>(shape.pool ? shape.outputs : 0),
                              .range = 1.0f});
  }
  return network;
}

std::vector<float> RunTrained(const TrainedModulation& network, std::span<const float> burst) {
  std::vector<float> values(burst.begin(), burst.end());
  for (const TrainedLayer& layer : network.layers) {
    values = ConvolveTrained(layer, values);
    if (&layer != &network.layers.back()) values = RectifyAndPool(layer.shape, values);
  }
  return values;
}

absl::Status Calibrate(std::span<const float> bursts, TrainedModulation& network) {
  if (bursts.empty() || bursts.size() % kModulationInputs != 0) {
    return absl::InvalidArgumentError("calibration needs whole bursts, at least one");
  }
  if (!std::ranges::all_of(bursts, [](float sample) { return std::isfinite(sample); })) {
    return absl::InvalidArgumentError("calibration: a sample is not finite");
  }
  network.input_range = LargestOf(bursts, 0.0f);
  for (TrainedLayer& layer : network.layers) layer.range = 0.0f;
  for (std::size_t at = 0; at < bursts.size(); at += kModulationInputs) {
    const std::span<const float> burst = bursts.subspan(at, kModulationInputs);
    std::vector<float> values(burst.begin(), burst.end());
    for (TrainedLayer& layer : network.layers) {
      values = ConvolveTrained(layer, values);
      if (&layer != &network.layers.back()) values = RectifyAndPool(layer.shape, values);
      layer.range = LargestOf(values, layer.range);
    }
  }
  if (network.input_range == 0.0f) network.input_range = 1.0f;
  for (TrainedLayer& layer : network.layers) {
    if (layer.range == 0.0f) layer.range = 1.0f;
  }
  return absl::OkStatus();
}

}  // namespace tributary::fpga
