#include "fpga/model/positioning_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "fpga/model/fixed_point.h"

namespace tributary::fpga {
namespace {

struct WordLengths {
  int first_layer;  // inputs and weights of layer 1
  int rest;
  int output;
};

// By NumberFormat; float has none.
constexpr std::array<WordLengths, kNumberFormats.size()> kWordLengths = {
    {{0, 0, 0}, {32, 32, 32}, {16, 16, 16}, {8, 8, 16}, {8, 16, 16}}};

// 8-bit products fit 32 bits at any weights (1024 · 127 · 128 < 2^24). 16-bit ones are bounded to 39 bits,
// well within a DSP's 48; 32-bit ones to 63, so that adding the rounding half cannot overflow.
int AccumulatorBits(int weight_bits) { return weight_bits == 8 ? 32 : weight_bits == 16 ? 39 : 63; }

// 16-bit layers drop at least 9 bits: then processors without 64-bit products need 32-bit lanes only.
int LeastShift(int weight_bits) { return weight_bits == 16 ? 9 : 1; }

float LargestMagnitude(std::span<const float> values) {
  float largest = 0.0f;
  for (const float v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

// Fits the largest weight into its word and the largest possible sum into the accumulator.
int WeightFraction(std::span<const float> weights, std::size_t inputs, int bits, int input_bits) {
  int fraction = FractionBits(LargestMagnitude(weights), bits);
  double largest_row = 0.0;
  for (std::size_t row = 0; row < weights.size(); row += inputs) {
    double sum = 0.0;
    for (const float w : weights.subspan(row, inputs)) sum += std::abs(static_cast<double>(w));
    largest_row = std::max(largest_row, sum);
  }
  const double limit = std::ldexp(1.0, AccumulatorBits(bits) - 1 - (input_bits - 1));
  const double rounding = 0.5 * static_cast<double>(inputs);
  while (std::ldexp(largest_row, fraction) + rounding >= limit) --fraction;
  return fraction;
}

// Fills a layer with an input of input_fraction; returns the fraction of its result.
int QuantiseDense(std::span<const float> weights, int input_bits, int input_fraction, float result_range,
                  FixedDense& dense) {
  dense.accumulator_bits = AccumulatorBits(dense.weight_bits);
  const int weight_fraction = WeightFraction(weights, dense.inputs, dense.weight_bits, input_bits);
  dense.weights.resize(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    dense.weights[i] =
        static_cast<std::int32_t>(QuantiseWeight(weights[i], weight_fraction, dense.weight_bits));
  }
  const int product_fraction = input_fraction + weight_fraction;
  const int fraction = std::min(FractionBits(result_range, dense.result_bits),
                                product_fraction - LeastShift(dense.weight_bits));
  dense.shift = product_fraction - fraction;
  return fraction;
}

int QuantiseBatchNorm(const nn::PositioningNetwork& network, int input_fraction, FixedBatchNorm& norm) {
  const int bits = norm.scale_bits;
  int scale_fraction = FractionBits(LargestMagnitude(network.batch_norm_scale), bits);
  const float largest_offset = LargestMagnitude(network.batch_norm_shift);
  while (std::ldexp(largest_offset, input_fraction + scale_fraction) >= std::ldexp(1.0, 2 * bits - 3) - 1.0) {
    --scale_fraction;
  }
  const int product_fraction = input_fraction + scale_fraction;
  for (std::size_t i = 0; i < network.batch_norm_scale.size(); ++i) {
    norm.scale.push_back(
        static_cast<std::int32_t>(QuantiseWeight(network.batch_norm_scale[i], scale_fraction, bits)));
    norm.offset.push_back(QuantiseWeight(network.batch_norm_shift[i], product_fraction, 2 * bits - 2));
  }
  const int fraction =
      std::min(FractionBits(network.activation_range[2], norm.result_bits), product_fraction - 1);
  norm.shift = product_fraction - fraction;
  return fraction;
}

absl::Status Fault(std::string_view fault) {
  return absl::InvalidArgumentError(fmt::format("positioning network: {}", fault));
}

PositioningInput MakeInput(const nn::PositioningNetwork& network, int fraction, int bits) {
  PositioningInput input{.alignment = network.alignment,
                         .mean = network.input_mean,
                         .gain = network.input_inverse_deviation,
                         .lowest = static_cast<float>(MinWord(bits)),
                         // 2^31 - 1 is no float; the next smaller one keeps the conversion in range.
                         .highest = bits == 32 ? 2147483520.0f : static_cast<float>(MaxWord(bits))};
  for (float& gain : input.gain) gain = std::ldexp(gain, fraction);
  return input;
}

std::vector<std::int32_t> RunDense(const FixedDense& dense, std::span<const std::int32_t> input) {
  std::vector<std::int32_t> results(dense.outputs);
  for (std::size_t row = 0; row < dense.outputs; ++row) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < dense.inputs; ++i) {
      sum += static_cast<std::int64_t>(dense.weights[row * dense.inputs + i]) * input[i];
    }
    if (dense.rectified) sum = std::max<std::int64_t>(sum, 0);
    results[row] = static_cast<std::int32_t>(Saturate(RoundShift(sum, dense.shift), dense.result_bits));
  }
  return results;
}

std::vector<std::int32_t> RunBatchNorm(const FixedBatchNorm& norm, std::span<const std::int32_t> input) {
  std::vector<std::int32_t> results(input.size());
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::int64_t sum = static_cast<std::int64_t>(input[i]) * norm.scale[i] + norm.offset[i];
    results[i] = static_cast<std::int32_t>(Saturate(RoundShift(sum, norm.shift), norm.result_bits));
  }
  return results;
}

}  // namespace

absl::StatusOr<FixedPositioning> MakeFixedPositioning(const nn::PositioningNetwork& network,
                                                      NumberFormat format) {
  if (format == NumberFormat::kFloat) return absl::InvalidArgumentError("float is not a fixed-point format");
  for (const float range : network.activation_range) {
    if (!(range > 0.0f)) return Fault("activation_range is not positive");
  }
  const WordLengths& words = kWordLengths[static_cast<std::size_t>(format)];
  FixedPositioning fixed;
  fixed.input_bits = words.first_layer;
  fixed.batch_norm.scale_bits = words.rest;
  fixed.batch_norm.result_bits = words.rest;

  // Ranges of the four layers' results within activation_range; the batch norm has number 2.
  constexpr std::array<std::size_t, 4> kRange = {1, 3, 4, 5};
  int bits = fixed.input_bits;
  int fraction = FractionBits(network.activation_range[0], bits);
  fixed.input = MakeInput(network, fraction, bits);
  for (std::size_t layer = 0; layer < fixed.dense.size(); ++layer) {
    FixedDense& dense = fixed.dense[layer];
    dense.inputs = nn::PositioningNetwork::kWidths[layer];
    dense.outputs = nn::PositioningNetwork::kWidths[layer + 1];
    dense.rectified = layer < 3;
    dense.weight_bits = layer == 0 ? words.first_layer : words.rest;
    dense.result_bits = layer == 3 ? words.output : words.rest;
    fraction =
        QuantiseDense(network.weights[layer], bits, fraction, network.activation_range[kRange[layer]], dense);
    if (dense.shift >= dense.accumulator_bits) {
      return Fault(fmt::format("layer {} has weights too small for its results", layer + 1));
    }
    bits = dense.result_bits;
    if (layer != 0) continue;
    fraction = QuantiseBatchNorm(network, fraction, fixed.batch_norm);
    if (fixed.batch_norm.shift >= 2 * fixed.batch_norm.scale_bits - 2) {
      return Fault("batch norm too small for its results");
    }
  }
  fixed.output_fraction = fraction;
  return fixed;
}

PhaseRotation AlignmentOf(std::complex<float> reference) {
  const float re = reference.real(), im = reference.imag();
  const float magnitude = std::sqrt(re * re + im * im);
  if (magnitude == 0.0f) return {.magnitude = re, .cosine = 1.0f, .sine = 0.0f};
  return {.magnitude = magnitude, .cosine = re / magnitude, .sine = im / magnitude};
}

bool StandardiseFeatures(const PositioningInput& input, std::span<const float> features,
                         std::span<float> values) {
  constexpr std::size_t kHalf = nn::PositioningNetwork::kInputs / 2;
  const PhaseRotation rotation =
      AlignmentOf(nn::PhaseReference(input.alignment, features.first<2 * kHalf>()));
  const bool first_is_real = input.alignment == nn::PhaseAlignment::kFirstAntenna;
  bool finite = true;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const float re = features[i];
    const float im = features[kHalf + i];
    const float aligned_re =
        i == 0 && first_is_real ? rotation.magnitude : re * rotation.cosine + im * rotation.sine;
    const float aligned_im = i == 0 && first_is_real ? 0.0f : im * rotation.cosine - re * rotation.sine;
    values[i] = (aligned_re - input.mean[i]) * input.gain[i];
    values[kHalf + i] = (aligned_im - input.mean[kHalf + i]) * input.gain[kHalf + i];
    finite = finite && std::isfinite(values[i]) && std::isfinite(values[kHalf + i]);
  }
  return finite;
}

std::int32_t QuantiseFeature(const PositioningInput& input, float value) {
  return static_cast<std::int32_t>(std::nearbyint(std::clamp(value, input.lowest, input.highest)));
}

std::vector<std::int32_t> RunLayers(const FixedPositioning& network, std::span<const std::int32_t> input) {
  std::vector<std::int32_t> words = RunBatchNorm(network.batch_norm, RunDense(network.dense[0], input));
  for (std::size_t layer = 1; layer < network.dense.size(); ++layer) {
    words = RunDense(network.dense[layer], words);
  }
  return words;
}

void InferPositioning(const FixedPositioning& network, std::span<const float> features,
                      std::span<float> outputs) {
  std::vector<float> values(features.size());
  if (!StandardiseFeatures(network.input, features, values)) {
    std::ranges::fill(outputs, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  std::vector<std::int32_t> words(values.size());
  std::ranges::transform(values, words.begin(), [&](float v) { return QuantiseFeature(network.input, v); });
  std::ranges::transform(RunLayers(network, words), outputs.begin(), [&](std::int32_t word) {
    return std::ldexp(static_cast<float>(word), -network.output_fraction);
  });
}

}  // namespace tributary::fpga
