#include "core/nn/positioning/positioning_trainer.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/nn/optimise/gaussian_nll.h"
#include "core/nn/positioning/positioning_inference.h"

namespace tributary::nn {
namespace {

constexpr std::size_t WeightCount() {
  std::size_t count = 0;
  for (std::size_t l = 0; l < 4; ++l) count += PositioningLayer(l).weight_count();
  return count;
}

constexpr std::size_t kParameterCount = WeightCount() + 2 * PositioningNetwork::kWidths[1];

}  // namespace

PositioningTrainer::PositioningTrainer(const Options& options)
    : batch_(options.batch),
      schedule_{options.peak_learning_rate, options.steps},
      gamma_{WeightCount(), PositioningNetwork::kWidths[1]},
      beta_{gamma_.offset + gamma_.size, gamma_.size},
      parameters_(kParameterCount),
      gradient_(kParameterCount),
      adam_(kParameterCount),
      norm_(PositioningNetwork::kWidths[1], options.batch),
      normalised_(PositioningNetwork::kWidths[1] * batch_) {
  // Uniform with variance 2 / inputs before a ReLU (He et al., 2015). The output layer starts near zero: with
  // a standard deviation of centimetres and an error of metres the likelihood would explode.
  std::mt19937_64 random(options.seed);
  std::size_t offset = 0;
  for (std::size_t l = 0; l < kLayers; ++l) {
    const Dense layer = PositioningLayer(l);
    outputs_[l].resize(layer.outputs * batch_);
    output_gradients_[l].resize(layer.outputs * batch_);
    weights_[l] = {offset, layer.weight_count()};
    const float variance = (l + 1 < kLayers ? 2.0f : 0.01f) / static_cast<float>(layer.inputs);
    const float limit = std::sqrt(3.0f * variance);
    for (float& weight : weights_[l].Of(std::span(parameters_))) {
      const float uniform =
          static_cast<float>(random() >> 40) * 0x1p-24f;  // the same with every standard library
      weight = limit * (2.0f * uniform - 1.0f);
    }
    offset += weights_[l].size;
  }
  std::ranges::fill(gamma_.Of(std::span(parameters_)), 1.0f);
}

MatrixView PositioningTrainer::Input(std::size_t layer, std::span<const float> features) const {
  const Dense dense = PositioningLayer(layer);
  if (layer == 0) return Transposed(RowMajor(features.data(), batch_, dense.inputs));
  return RowMajor(layer == 1 ? normalised_.data() : outputs_[layer - 1].data(), dense.inputs, batch_);
}

void PositioningTrainer::Forward(std::span<const float> features) {
  const std::span<const float> parameters = parameters_;
  for (std::size_t l = 0; l < kLayers; ++l) {
    PositioningLayer(l).Forward(gemm_, weights_[l].Of(parameters).data(), Input(l, features),
                                outputs_[l].data());
    if (l + 1 < kLayers) ReluForward(outputs_[l]);
    if (l > 0) continue;
    std::ranges::copy(outputs_[l], normalised_.begin());
    norm_.TrainForward(gamma_.Of(parameters), beta_.Of(parameters), batch_, normalised_.data());
  }
}

void PositioningTrainer::Backward(std::span<const float> features) {
  const std::span<const float> parameters = parameters_;
  const std::span<float> parameter_gradient = gradient_;
  for (std::size_t l = kLayers; l-- > 0;) {
    float* gradient = output_gradients_[l].data();
    if (l == 0) {
      norm_.Backward(gamma_.Of(parameters), batch_, gradient, gamma_.Of(parameter_gradient),
                     beta_.Of(parameter_gradient));
    }
    if (l + 1 < kLayers) ReluBackward(outputs_[l], output_gradients_[l]);
    PositioningLayer(l).BackwardWeights(gemm_, Input(l, features), gradient,
                                        weights_[l].Of(parameter_gradient).data());
    if (l == 0) break;
    PositioningLayer(l).BackwardInput(gemm_, weights_[l].Of(parameters).data(), gradient, batch_,
                                      output_gradients_[l - 1].data());
  }
}

double PositioningTrainer::Gradient(std::span<const float> features, std::span<const float> targets) {
  Forward(features);
  const double loss = GaussianNllBatch(outputs_.back(), targets, output_gradients_.back());
  Backward(features);
  return loss;
}

double PositioningTrainer::Step(std::span<const float> features, std::span<const float> targets) {
  const double loss = Gradient(features, targets);
  adam_.Step(parameters_, gradient_, schedule_.Rate(steps_done_++));
  return loss;
}

void PositioningTrainer::Export(PositioningNetwork& network) const {
  const std::span<const float> all = parameters_;
  for (std::size_t l = 0; l < kLayers; ++l) {
    const auto weights = weights_[l].Of(all);
    network.weights[l].assign(weights.begin(), weights.end());
  }
  network.batch_norm_scale.resize(norm_.features());
  network.batch_norm_shift.resize(norm_.features());
  norm_.Fold(gamma_.Of(all), beta_.Of(all), network.batch_norm_scale, network.batch_norm_shift);
}

}  // namespace tributary::nn
