#include "core/nn/positioning/positioning_inference.h"

#include <algorithm>
#include <utility>

namespace tributary::nn {

void Standardise(const PositioningNetwork& network, FeatureSpan features) {
  const float* mean = network.input_mean.data();
  const float* inverse_deviation = network.input_inverse_deviation.data();
  float* values = features.data();
  for (std::size_t i = 0; i < PositioningNetwork::kInputs; ++i) {
    values[i] = (values[i] - mean[i]) * inverse_deviation[i];
  }
}

PositioningInference::PositioningInference(PositioningNetwork network, std::size_t max_batch)
    : network_(std::move(network)), max_batch_(max_batch) {
  constexpr auto& kWidths = PositioningNetwork::kWidths;
  constexpr std::array<std::size_t, 6> kActivationWidths = {kWidths[0], kWidths[1], kWidths[1],
                                                            kWidths[2], kWidths[3], kWidths[4]};
  for (std::size_t i = 0; i < activations_.size(); ++i) {
    activations_[i].resize(kActivationWidths[i] * max_batch);
  }
}

void PositioningInference::Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) {
  constexpr std::size_t kInputs = PositioningNetwork::kInputs;
  batch_ = batch;
  std::vector<float>& input = activations_.front();
  std::copy_n(features.data(), batch * kInputs, input.data());
  for (std::size_t i = 0; i < batch; ++i) {
    const FeatureSpan sample(input.data() + i * kInputs, kInputs);
    AlignPhase(network_.alignment, sample);
    Standardise(network_, sample);
  }

  MatrixView x = Transposed(RowMajor(input.data(), batch, kInputs));
  std::size_t activation = 1;
  for (std::size_t l = 0; l < network_.weights.size(); ++l) {
    const std::size_t inputs = PositioningNetwork::kWidths[l], width = PositioningNetwork::kWidths[l + 1];
    std::vector<float>& y = activations_[activation++];
    gemm_.Multiply(RowMajor(network_.weights[l].data(), width, inputs), x, y.data());
    x = RowMajor(y.data(), width, batch);
    if (l + 1 < network_.weights.size()) ReluForward({y.data(), width * batch});
    if (l > 0) continue;
    std::vector<float>& normalised = activations_[activation++];
    for (std::size_t f = 0; f < width; ++f) {
      for (std::size_t i = f * batch; i < (f + 1) * batch; ++i) {
        normalised[i] = y[i] * network_.batch_norm_scale[f] + network_.batch_norm_shift[f];
      }
    }
    x.data = normalised.data();
  }

  const std::vector<float>& output = activations_.back();
  for (std::size_t i = 0; i < batch; ++i) {
    for (std::size_t k = 0; k < kGaussianOutputs; ++k) {
      outputs[i * kGaussianOutputs + k] = output[k * batch + i];
    }
  }
}

std::array<std::span<const float>, 6> PositioningInference::activations() const {
  std::array<std::span<const float>, 6> spans;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    spans[i] = std::span(activations_[i]).first(activations_[i].size() / max_batch_ * batch_);
  }
  return spans;
}

GaussianPosition PositionFromOutputs(const PositioningNetwork& network, std::span<const float> outputs) {
  std::array<double, kGaussianOutputs> raw;
  std::copy_n(outputs.begin(), kGaussianOutputs, raw.begin());
  GaussianPosition position = GaussianHead(raw);
  for (double& element : position.cholesky) element *= network.covariance_scale;
  return position;
}

}  // namespace tributary::nn
