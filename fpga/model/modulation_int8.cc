#include "fpga/model/modulation_int8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/status/macros.h"
#include "fpga/model/fixed_point.h"

namespace tributary::fpga {
namespace {

constexpr double kLargestWeight = 127.0;
constexpr double kLargestWord = 127.0;

// The unit of each output channel's weights. A channel of zeros has unit zero.
std::vector<double> WeightUnits(const TrainedLayer& layer) {
  std::vector<double> units(layer.shape.outputs, 0.0);
  for (std::size_t i = 0; i < layer.weights.size(); ++i) {
    double& unit = units[i / layer.shape.terms()];
    unit = std::max(unit, std::abs(static_cast<double>(layer.weights[i])) / kLargestWeight);
  }
  return units;
}

// Quantises a layer whose input words have input_unit; returns the unit of its results.
double QuantiseLayer(const TrainedLayer& layer, bool last, double input_unit, Int8Layer& fixed) {
  const int shift = last ? Int8Layer::kLogitShift : Int8Layer::kHiddenShift;
  const double largest_multiplier = std::ldexp(1.0, Int8Layer::kMultiplierBits) - 1.0;
  const double one = std::ldexp(1.0, Int8Layer::kHiddenShift);
  const std::vector<double> units = WeightUnits(layer);
  const double result_unit =
      std::max(static_cast<double>(layer.range) / kLargestWord,
               input_unit * *std::ranges::max_element(units) * one / largest_multiplier);
  fixed.shape = layer.shape;
  for (std::size_t i = 0; i < layer.weights.size(); ++i) {
    const double unit = units[i / layer.shape.terms()];
    fixed.weights.push_back(
        static_cast<std::int8_t>(unit == 0.0 ? 0.0 : std::nearbyint(layer.weights[i] / unit)));
  }
  for (std::size_t output = 0; output < layer.shape.outputs; ++output) {
    fixed.multiplier.push_back(static_cast<std::int32_t>(
        std::min(std::nearbyint(input_unit * units[output] / result_unit * one), largest_multiplier)));
    const double bias = layer.bias.empty() ? 0.0 : layer.bias[output];
    const double offset = std::nearbyint(bias / result_unit * one) + std::ldexp(0.5, shift);
    const double limit = std::ldexp(1.0, Int8Layer::kOffsetBits - 1) - 1.0;
    fixed.offset.push_back(static_cast<std::int64_t>(std::clamp(offset, -limit, limit)));
  }
  return result_unit;
}

// Sums of one output channel: [convolved].
void ConvolveInt8(const Int8Layer& layer, std::size_t output, std::span<const std::int8_t> input,
                  std::span<std::int32_t> sums) {
  const ModulationShape& shape = layer.shape;
  std::ranges::fill(sums, 0);
  const std::int8_t* weight = &layer.weights[output * shape.terms()];
  for (std::size_t channel = 0; channel < shape.channels; ++channel) {
    for (std::size_t tap = 0; tap < shape.taps; ++tap, ++weight) {
      const std::int8_t* from = &input[channel * shape.positions + tap];
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += std::int32_t{*weight} * from[i];
    }
  }
}

std::int64_t Scaled(const Int8Layer& layer, std::size_t output, std::int32_t sum) {
  return std::int64_t{sum} * layer.multiplier[output] + layer.offset[output];
}

std::vector<std::int8_t> RunHidden(const Int8Layer& layer, std::span<const std::int8_t> input) {
  const ModulationShape& shape = layer.shape;
  const std::size_t step = shape.pool ? 2 : 1;
  std::vector<std::int8_t> words(shape.outputs * shape.results());
  std::vector<std::int32_t> sums(shape.convolved());
  for (std::size_t output = 0; output < shape.outputs; ++output) {
    ConvolveInt8(layer, output, input, sums);
    for (std::size_t i = 0; i < shape.results(); ++i) {
      // Scaling keeps the order of two sums: the multiplier is not negative.
      const std::int32_t sum = shape.pool ? std::max(sums[i * step], sums[i * step + 1]) : sums[i];
      const std::int64_t word = Scaled(layer, output, sum) >> Int8Layer::kHiddenShift;
      words[output * shape.results() + i] =
          static_cast<std::int8_t>(std::clamp<std::int64_t>(word, 0, MaxWord(8)));
    }
  }
  return words;
}

std::vector<std::int32_t> RunLast(const Int8Layer& layer, std::span<const std::int8_t> input) {
  std::vector<std::int32_t> words(layer.shape.outputs);
  std::vector<std::int32_t> sum(1);
  for (std::size_t output = 0; output < words.size(); ++output) {
    ConvolveInt8(layer, output, input, sum);
    const std::int64_t word = Scaled(layer, output, sum[0]) >> Int8Layer::kLogitShift;
    words[output] = static_cast<std::int32_t>(Saturate(word, 16));
  }
  return words;
}

}  // namespace

absl::StatusOr<Int8Modulation> MakeInt8Modulation(const TrainedModulation& network) {
  RETURN_IF_ERROR(CheckTrained(network));
  Int8Modulation fixed;
  fixed.input_gain = static_cast<float>(kLargestWord / network.input_range);
  double unit = network.input_range / kLargestWord;
  for (const TrainedLayer& layer : network.layers) {
    const bool last = &layer == &network.layers.back();
    unit = QuantiseLayer(layer, last, unit, fixed.layers.emplace_back());
    if (!std::isnormal(static_cast<float>(unit))) {
      return absl::InvalidArgumentError(fmt::format(
          "modulation network, layer {}: its scale does not fit single precision", fixed.layers.size()));
    }
    const double limit = std::ldexp(1.0, Int8Layer::kOffsetBits - 2 - Int8Layer::kHiddenShift) * unit;
    if (std::ranges::any_of(layer.bias, [&](float bias) { return std::abs(bias) > limit; })) {
      return absl::InvalidArgumentError(fmt::format(
          "modulation network, layer {}: a bias is far beyond the layer's range", fixed.layers.size()));
    }
  }
  fixed.logit_unit = static_cast<float>(std::ldexp(unit, Int8Layer::kLogitShift - Int8Layer::kHiddenShift));
  if (!std::isfinite(fixed.input_gain) || !std::isnormal(fixed.logit_unit)) {
    return absl::InvalidArgumentError("modulation network: its scales do not fit single precision");
  }
  return fixed;
}

std::int8_t QuantiseSample(const Int8Modulation& network, float sample) {
  const auto limit = static_cast<float>(kLargestWord);
  return static_cast<std::int8_t>(std::nearbyint(std::clamp(sample * network.input_gain, -limit, limit)));
}

std::vector<std::int32_t> RunInt8Layers(const Int8Modulation& network, std::span<const std::int8_t> burst) {
  std::vector<std::int8_t> words(burst.begin(), burst.end());
  for (std::size_t i = 0; i + 1 < network.layers.size(); ++i) words = RunHidden(network.layers[i], words);
  return RunLast(network.layers.back(), words);
}

void InferInt8(const Int8Modulation& network, std::span<const float> burst, std::span<float> logits) {
  if (!std::ranges::all_of(burst, [](float sample) { return std::isfinite(sample); })) {
    std::ranges::fill(logits, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  std::vector<std::int8_t> words(burst.size());
  std::ranges::transform(burst, words.begin(), [&](float sample) { return QuantiseSample(network, sample); });
  std::ranges::transform(RunInt8Layers(network, words), logits.begin(),
                         [&](std::int32_t word) { return static_cast<float>(word) * network.logit_unit; });
}

}  // namespace tributary::fpga
