#include "fpga/model/modulation_slope_bias.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "core/status/macros.h"
#include "fpga/model/fixed_point.h"

namespace tributary::fpga {
namespace {

constexpr int kSlopeWordFraction = 24;
constexpr int kLevels = 255;  // steps between the lowest and the highest word

std::int32_t ToFixed(double value) {
  const double word = std::nearbyint(std::ldexp(value, kSlopeBiasFraction));
  return static_cast<std::int32_t>(std::clamp(word, static_cast<double>(MinWord(kSlopeBiasBits)),
                                              static_cast<double>(MaxWord(kSlopeBiasBits))));
}

bool FitsFixed(double value) {
  return std::abs(value) < std::ldexp(1.0, kSlopeBiasBits - 1 - kSlopeBiasFraction);
}

// What the loader does: shifts and adds of the stored word, then the bias.
std::int32_t Convert(const SlopeBiasLayer& layer, std::int8_t stored) {
  const std::int64_t scaled = std::int64_t{stored} * layer.slope;
  return static_cast<std::int32_t>(
      Saturate(RoundShift(scaled, kSlopeWordFraction - kSlopeBiasFraction) + layer.bias, kSlopeBiasBits));
}

absl::Status StoreWeights(const TrainedLayer& trained, std::size_t index, SlopeBiasLayer& layer) {
  const auto [low, high] = std::ranges::minmax_element(trained.weights);
  const double slope = (static_cast<double>(*high) - *low) / kLevels;
  const double bias = *high - static_cast<double>(MaxWord(8)) * slope;
  const double slope_word = std::nearbyint(std::ldexp(slope, kSlopeWordFraction));
  if (!FitsFixed(*low) || !FitsFixed(*high) || !FitsFixed(bias) ||
      slope_word > static_cast<double>(MaxWord(kSlopeBiasBits)) ||
      !std::ranges::all_of(trained.bias, FitsFixed)) {
    return absl::InvalidArgumentError(
        fmt::format("modulation network, layer {}: its weights do not fit 25 bits", index + 1));
  }
  layer.shape = trained.shape;
  layer.slope = static_cast<std::int32_t>(slope_word);
  layer.bias = ToFixed(bias);
  for (const float weight : trained.weights) {
    const double word =
        slope == 0.0 ? static_cast<double>(MaxWord(8)) : std::nearbyint((weight - bias) / slope);
    layer.stored.push_back(static_cast<std::int8_t>(
        std::clamp(word, static_cast<double>(MinWord(8)), static_cast<double>(MaxWord(8)))));
    layer.weights.push_back(Convert(layer, layer.stored.back()));
  }
  layer.offset.assign(trained.shape.outputs, 0);
  std::ranges::transform(trained.bias, layer.offset.begin(), ToFixed);
  return absl::OkStatus();
}

std::int32_t SumAt(const SlopeBiasLayer& layer, std::size_t output, std::size_t position,
                   std::span<const std::int32_t> input) {
  const ModulationShape& shape = layer.shape;
  std::int64_t sum = layer.offset[output];
  for (std::size_t term = 0; term < shape.terms(); ++term) {
    const std::int64_t value = input[term / shape.taps * shape.positions + position + term % shape.taps];
    const std::int64_t product = value * layer.weights[output * shape.terms() + term];
    sum = Saturate(sum + Saturate(product >> kSlopeBiasFraction, kSlopeBiasBits), kSlopeBiasBits);
  }
  return static_cast<std::int32_t>(sum);
}

std::vector<std::int32_t> RunSlopeBiasLayer(const SlopeBiasLayer& layer, bool last,
                                            std::span<const std::int32_t> input) {
  const ModulationShape& shape = layer.shape;
  const std::size_t step = shape.pool ? 2 : 1;
  std::vector<std::int32_t> words;
  words.reserve(shape.outputs * shape.results());
  for (std::size_t output = 0; output < shape.outputs; ++output) {
    for (std::size_t i = 0; i < shape.results(); ++i) {
      std::int32_t word = SumAt(layer, output, i * step, input);
      if (shape.pool) word = std::max(word, SumAt(layer, output, i * step + 1, input));
      words.push_back(last ? word : std::max(word, 0));
    }
  }
  return words;
}

}  // namespace

absl::StatusOr<SlopeBiasModulation> MakeSlopeBiasModulation(const TrainedModulation& network) {
  RETURN_IF_ERROR(CheckTrained(network));
  SlopeBiasModulation fixed;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    RETURN_IF_ERROR(StoreWeights(network.layers[i], i, fixed.layers.emplace_back()));
  }
  return fixed;
}

void InferSlopeBias(const SlopeBiasModulation& network, std::span<const float> burst,
                    std::span<float> logits) {
  if (!std::ranges::all_of(burst, [](float sample) { return std::isfinite(sample); })) {
    std::ranges::fill(logits, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  std::vector<std::int32_t> words(burst.size());
  std::ranges::transform(burst, words.begin(), ToFixed);
  for (const SlopeBiasLayer& layer : network.layers) {
    words = RunSlopeBiasLayer(layer, &layer == &network.layers.back(), words);
  }
  std::ranges::transform(words, logits.begin(), [](std::int32_t word) {
    return std::ldexp(static_cast<float>(word), -kSlopeBiasFraction);
  });
}

}  // namespace tributary::fpga
