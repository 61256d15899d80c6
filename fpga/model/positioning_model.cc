#include "fpga/model/positioning_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/status/macros.h"
#include "fpga/model/fixed_point.h"

namespace tributary::fpga {

PhaseRotation AlignmentOf(float re, float im) {
  const float magnitude = std::sqrt(re * re + im * im);
  if (magnitude == 0.0f) return {.magnitude = re, .cosine = 1.0f, .sine = 0.0f};
  return {.magnitude = magnitude, .cosine = re / magnitude, .sine = im / magnitude};
}

PositioningInput MakePositioningInput(const nn::PositioningNetwork& network, int fraction, int bits) {
  PositioningInput input{.mean = network.input_mean, .gain = network.input_inverse_deviation};
  for (float& gain : input.gain) gain = std::ldexp(gain, fraction);
  if (bits == 0) return input;
  input.lowest = static_cast<float>(MinWord(bits));
  // 2^31 - 1 is no float; the next smaller one keeps the conversion in range.
  input.highest = bits == 32 ? 2147483520.0f : static_cast<float>(MaxWord(bits));
  return input;
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

absl::StatusOr<PositioningModel> PositioningModel::Create(const nn::PositioningNetwork& network,
                                                          NumberFormat format) {
  PositioningModel model;
  model.format_ = format;
  if (format == NumberFormat::kFloat) {
    RETURN_IF_ERROR(ValidatePositioningNetwork(network));
    model.input_ = MakePositioningInput(network, 0, 0);
  } else {
    ASSIGN_OR_RETURN(model.fixed_, MakeFixedPositioning(network, format));
    model.input_ = MakePositioningInput(network, model.fixed_.input_fraction, model.fixed_.input_bits);
  }
  model.network_ = network;
  return model;
}

void PositioningModel::Infer(std::span<const float> features, std::span<float> outputs) const {
  std::vector<float> values(kInputs);
  if (!StandardiseFeatures(input_, features, values)) {
    std::fill(outputs.begin(), outputs.end(), std::numeric_limits<float>::quiet_NaN());
    return;
  }
  if (format_ == NumberFormat::kFloat) return RunFloat(values, outputs);
  std::vector<std::int32_t> words(kInputs);
  std::transform(values.begin(), values.end(), words.begin(),
                 [&](float v) { return QuantiseFeature(input_, v); });
  std::vector<std::int32_t> results(kOutputs);
  RunFixed(words, results);
  for (std::size_t i = 0; i < kOutputs; ++i) {
    outputs[i] = std::ldexp(static_cast<float>(results[i]), -fixed_.output_fraction);
  }
}

void PositioningModel::RunFixed(std::span<const std::int32_t> input, std::span<std::int32_t> output) const {
  std::vector<std::int32_t> words = RunDense(fixed_.dense[0], input);
  words = RunBatchNorm(fixed_.batch_norm, words);
  for (std::size_t layer = 1; layer < fixed_.dense.size(); ++layer)
    words = RunDense(fixed_.dense[layer], words);
  std::copy(words.begin(), words.end(), output.begin());
}

void PositioningModel::RunFloat(std::span<const float> input, std::span<float> output) const {
  std::vector<float> values(input.begin(), input.end());
  for (std::size_t layer = 0; layer < network_.weights.size(); ++layer) {
    const std::size_t inputs = nn::PositioningNetwork::kWidths[layer];
    std::vector<float> results(nn::PositioningNetwork::kWidths[layer + 1], 0.0f);
    for (std::size_t row = 0; row < results.size(); ++row) {
      const float* weights = network_.weights[layer].data() + row * inputs;
      for (std::size_t i = 0; i < inputs; ++i) results[row] += weights[i] * values[i];
      if (layer < 3) results[row] = std::max(results[row], 0.0f);
      if (layer == 0) {
        results[row] = results[row] * network_.batch_norm_scale[row] + network_.batch_norm_shift[row];
      }
    }
    values = std::move(results);
  }
  std::copy(values.begin(), values.end(), output.begin());
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

}  // namespace tributary::fpga
