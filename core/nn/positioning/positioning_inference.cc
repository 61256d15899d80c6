#include "core/nn/positioning/positioning_inference.h"

#include <algorithm>
#include <utility>

#include "core/nn/kernel/activation.h"
#include "core/nn/kernel/dense.h"
#include "core/nn/positioning/positioning_features.h"

namespace tributary::nn {
namespace {

Dense Layer(std::size_t index) {
  return {PositioningNetwork::kWidths[index], PositioningNetwork::kWidths[index + 1]};
}

}  // namespace

PositioningInference::PositioningInference(PositioningNetwork network, std::size_t max_batch)
    : network_(std::move(network)), max_batch_(max_batch) {
  constexpr std::array<std::size_t, 6> kActivationWidths = {
      PositioningNetwork::kWidths[0], PositioningNetwork::kWidths[1], PositioningNetwork::kWidths[1],
      PositioningNetwork::kWidths[2], PositioningNetwork::kWidths[3], PositioningNetwork::kWidths[4]};
  for (std::size_t i = 0; i < activations_.size(); ++i)
    activations_[i].resize(kActivationWidths[i] * max_batch);
}

void PositioningInference::Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) {
  batch_ = batch;
  auto& [input, relu1, normalised, relu2, relu3, output] = activations_;
  std::copy_n(features.data(), batch * PositioningNetwork::kWidths[0], input.data());
  for (std::size_t i = 0; i < batch; ++i) {
    const FeatureSpan sample(input.data() + i * PositioningNetwork::kWidths[0],
                             PositioningNetwork::kWidths[0]);
    AlignPhase(sample);
    Standardise(network_, sample);
  }

  Layer(0).Forward(gemm_, network_.weights[0].data(),
                   Transposed(RowMajor(input.data(), batch, PositioningNetwork::kWidths[0])), relu1.data());
  ReluForward({relu1.data(), PositioningNetwork::kWidths[1] * batch});
  for (std::size_t f = 0; f < PositioningNetwork::kWidths[1]; ++f) {
    for (std::size_t i = f * batch; i < (f + 1) * batch; ++i) {
      normalised[i] = relu1[i] * network_.batch_norm_scale[f] + network_.batch_norm_shift[f];
    }
  }
  Layer(1).Forward(gemm_, network_.weights[1].data(),
                   RowMajor(normalised.data(), PositioningNetwork::kWidths[1], batch), relu2.data());
  ReluForward({relu2.data(), PositioningNetwork::kWidths[2] * batch});
  Layer(2).Forward(gemm_, network_.weights[2].data(),
                   RowMajor(relu2.data(), PositioningNetwork::kWidths[2], batch), relu3.data());
  ReluForward({relu3.data(), PositioningNetwork::kWidths[3] * batch});
  Layer(3).Forward(gemm_, network_.weights[3].data(),
                   RowMajor(relu3.data(), PositioningNetwork::kWidths[3], batch), output.data());

  for (std::size_t i = 0; i < batch; ++i) {
    for (std::size_t k = 0; k < PositioningNetwork::kWidths[4]; ++k)
      outputs[i * PositioningNetwork::kWidths[4] + k] = output[k * batch + i];
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
