#include "fpga/model/positioning_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fpga/model/fixed_point.h"

namespace tributary::fpga {

PhaseRotation AlignmentOf(float re, float im) {
  const float magnitude = std::sqrt(re * re + im * im);
  if (magnitude == 0.0f) return {.magnitude = re, .cosine = 1.0f, .sine = 0.0f};
  return {.magnitude = magnitude, .cosine = re / magnitude, .sine = im / magnitude};
}

bool StandardiseFeatures(const PositioningInput& input, std::span<const float> features,
                         std::span<float> values) {
  constexpr std::size_t kHalf = nn::PositioningNetwork::kInputs / 2;
  const PhaseRotation rotation = AlignmentOf(features[0], features[kHalf]);
  bool finite = true;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const float re = features[i];
    const float im = features[kHalf + i];
    const float aligned_re = i == 0 ? rotation.magnitude : re * rotation.cosine + im * rotation.sine;
    const float aligned_im = i == 0 ? 0.0f : im * rotation.cosine - re * rotation.sine;
    values[i] = (aligned_re - input.mean[i]) * input.gain[i];
    values[kHalf + i] = (aligned_im - input.mean[kHalf + i]) * input.gain[kHalf + i];
    finite = finite && std::isfinite(values[i]) && std::isfinite(values[kHalf + i]);
  }
  return finite;
}

std::int32_t QuantiseFeature(const PositioningInput& input, float value) {
  return static_cast<std::int32_t>(std::nearbyint(std::clamp(value, input.lowest, input.highest)));
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
