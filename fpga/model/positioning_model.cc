#include "fpga/model/positioning_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fpga/model/fixed_point.h"

namespace tributary::fpga {

absl::StatusOr<PositioningModel> PositioningModel::Create(const nn::PositioningNetwork& network,
                                                          NumberFormat format) {
  PositioningModel model;
  model.format_ = format;
  if (format == NumberFormat::kFloat) {
    if (absl::Status status = ValidatePositioningNetwork(network); !status.ok()) return status;
    model.input_ = MakePositioningInput(network, 0, 0);
  } else {
    absl::StatusOr<FixedPositioning> fixed = MakeFixedPositioning(network, format);
    if (!fixed.ok()) return fixed.status();
    model.fixed_ = *std::move(fixed);
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
