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
      gamma_offset_(WeightCount()),
      parameters_(kParameterCount),
      gradient_(kParameterCount),
      adam_(kParameterCount),
      norm_(PositioningNetwork::kWidths[1], options.batch),
      normalised_(PositioningNetwork::kWidths[1] * batch_) {
  for (std::size_t l = 0; l < kLayers; ++l) {
    outputs_[l].resize(PositioningLayer(l).outputs * batch_);
    output_gradients_[l].resize(PositioningLayer(l).outputs * batch_);
  }
  // Uniform with variance 2 / inputs before a ReLU (He et al., 2015). The output layer starts near zero: with
  // a standard deviation of centimetres and an error of metres the likelihood would explode.
  std::mt19937_64 random(options.seed);
  std::size_t offset = 0;
  for (std::size_t l = 0; l < kLayers; ++l) {
    offsets_[l] = offset;
    const float variance = (l + 1 < kLayers ? 2.0f : 0.01f) / static_cast<float>(PositioningLayer(l).inputs);
    const float limit = std::sqrt(3.0f * variance);
    for (std::size_t i = 0; i < PositioningLayer(l).weight_count(); ++i) {
      const float uniform =
          static_cast<float>(random() >> 40) * 0x1p-24f;  // the same with every standard library
      parameters_[offset + i] = limit * (2.0f * uniform - 1.0f);
    }
    offset += PositioningLayer(l).weight_count();
  }
  std::ranges::fill(Gamma(), 1.0f);
}

MatrixView PositioningTrainer::Input(std::size_t layer, std::span<const float> features) const {
  const Dense dense = PositioningLayer(layer);
  if (layer == 0) return Transposed(RowMajor(features.data(), batch_, dense.inputs));
  return RowMajor(layer == 1 ? normalised_.data() : outputs_[layer - 1].data(), dense.inputs, batch_);
}

void PositioningTrainer::Forward(std::span<const float> features) {
  for (std::size_t l = 0; l < kLayers; ++l) {
    PositioningLayer(l).Forward(gemm_, parameters_.data() + offsets_[l], Input(l, features),
                                outputs_[l].data());
    if (l + 1 < kLayers) ReluForward(outputs_[l]);
    if (l > 0) continue;
    std::ranges::copy(outputs_[l], normalised_.begin());
    norm_.TrainForward(Gamma(), Beta(), batch_, normalised_.data());
  }
}

void PositioningTrainer::Backward(std::span<const float> features) {
  for (std::size_t l = kLayers; l-- > 0;) {
    float* gradient = output_gradients_[l].data();
    if (l == 0) {
      norm_.Backward(Gamma(), batch_, gradient, std::span(gradient_).subspan(gamma_offset_, norm_.features()),
                     std::span(gradient_).subspan(gamma_offset_ + norm_.features(), norm_.features()));
    }
    if (l + 1 < kLayers) ReluBackward(outputs_[l], output_gradients_[l]);
    PositioningLayer(l).BackwardWeights(gemm_, Input(l, features), gradient, gradient_.data() + offsets_[l]);
    if (l == 0) break;
    PositioningLayer(l).BackwardInput(gemm_, parameters_.data() + offsets_[l], gradient, batch_,
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
    const auto weights = all.subspan(offsets_[l], PositioningLayer(l).weight_count());
    network.weights[l].assign(weights.begin(), weights.end());
  }
  network.batch_norm_scale.resize(norm_.features());
  network.batch_norm_shift.resize(norm_.features());
  norm_.Fold(all.subspan(gamma_offset_, norm_.features()), all.subspan(gamma_offset_ + norm_.features()),
             network.batch_norm_scale, network.batch_norm_shift);
}

}  // namespace tributary::nn
