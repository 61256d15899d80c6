#include "core/nn/positioning/positioning_trainer.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/nn/kernel/activation.h"
#include "core/nn/kernel/dense.h"
#include "core/nn/optimise/gaussian_nll.h"

namespace tributary::nn {
namespace {

constexpr std::array<Dense, 4> kDense = {{{PositioningNetwork::kWidths[0], PositioningNetwork::kWidths[1]},
                                          {PositioningNetwork::kWidths[1], PositioningNetwork::kWidths[2]},
                                          {PositioningNetwork::kWidths[2], PositioningNetwork::kWidths[3]},
                                          {PositioningNetwork::kWidths[3], PositioningNetwork::kWidths[4]}}};

constexpr std::size_t WeightCount() {
  std::size_t count = 0;
  for (const Dense& layer : kDense) count += layer.weight_count();
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
      relu1_(PositioningNetwork::kWidths[1] * batch_),
      normalised_(relu1_.size()),
      relu2_(PositioningNetwork::kWidths[2] * batch_),
      relu3_(PositioningNetwork::kWidths[3] * batch_),
      output_(PositioningNetwork::kWidths[4] * batch_),
      relu1_gradient_(relu1_.size()),
      relu2_gradient_(relu2_.size()),
      relu3_gradient_(relu3_.size()),
      output_gradient_(output_.size()) {
  // Uniform with variance 2 / inputs before a ReLU (He et al., 2015). The output layer starts near zero: with
  // a standard deviation of centimetres and an error of metres the likelihood would explode.
  std::mt19937_64 random(options.seed);
  std::size_t offset = 0;
  for (std::size_t l = 0; l < kLayers; ++l) {
    offsets_[l] = offset;
    const float variance = (l + 1 < kLayers ? 2.0f : 0.01f) / static_cast<float>(kDense[l].inputs);
    const float limit = std::sqrt(3.0f * variance);
    for (std::size_t i = 0; i < kDense[l].weight_count(); ++i) {
      const float uniform =
          static_cast<float>(random() >> 40) * 0x1p-24f;  // the same with every standard library
      parameters_[offset + i] = limit * (2.0f * uniform - 1.0f);
    }
    offset += kDense[l].weight_count();
  }
  std::ranges::fill(Gamma(), 1.0f);
}

void PositioningTrainer::Forward(std::span<const float> features) {
  const float* weights = parameters_.data();
  kDense[0].Forward(gemm_, weights + offsets_[0],
                    Transposed(RowMajor(features.data(), batch_, PositioningNetwork::kWidths[0])),
                    relu1_.data());
  ReluForward(relu1_);
  std::ranges::copy(relu1_, normalised_.begin());
  norm_.TrainForward(Gamma(), Beta(), batch_, normalised_.data());
  kDense[1].Forward(gemm_, weights + offsets_[1],
                    RowMajor(normalised_.data(), PositioningNetwork::kWidths[1], batch_), relu2_.data());
  ReluForward(relu2_);
  kDense[2].Forward(gemm_, weights + offsets_[2],
                    RowMajor(relu2_.data(), PositioningNetwork::kWidths[2], batch_), relu3_.data());
  ReluForward(relu3_);
  kDense[3].Forward(gemm_, weights + offsets_[3],
                    RowMajor(relu3_.data(), PositioningNetwork::kWidths[3], batch_), output_.data());
}

void PositioningTrainer::Backward(std::span<const float> features) {
  const float* weights = parameters_.data();
  float* gradient = gradient_.data();
  kDense[3].BackwardWeights(gemm_, RowMajor(relu3_.data(), PositioningNetwork::kWidths[3], batch_),
                            output_gradient_.data(), gradient + offsets_[3]);
  kDense[3].BackwardInput(gemm_, weights + offsets_[3], output_gradient_.data(), batch_,
                          relu3_gradient_.data());

  ReluBackward(relu3_, relu3_gradient_);
  kDense[2].BackwardWeights(gemm_, RowMajor(relu2_.data(), PositioningNetwork::kWidths[2], batch_),
                            relu3_gradient_.data(), gradient + offsets_[2]);
  kDense[2].BackwardInput(gemm_, weights + offsets_[2], relu3_gradient_.data(), batch_,
                          relu2_gradient_.data());

  ReluBackward(relu2_, relu2_gradient_);
  kDense[1].BackwardWeights(gemm_, RowMajor(normalised_.data(), PositioningNetwork::kWidths[1], batch_),
                            relu2_gradient_.data(), gradient + offsets_[1]);
  kDense[1].BackwardInput(gemm_, weights + offsets_[1], relu2_gradient_.data(), batch_,
                          relu1_gradient_.data());

  norm_.Backward(Gamma(), batch_, relu1_gradient_.data(),
                 std::span(gradient_).subspan(gamma_offset_, norm_.features()),
                 std::span(gradient_).subspan(gamma_offset_ + norm_.features(), norm_.features()));
  ReluBackward(relu1_, relu1_gradient_);
  kDense[0].BackwardWeights(gemm_,
                            Transposed(RowMajor(features.data(), batch_, PositioningNetwork::kWidths[0])),
                            relu1_gradient_.data(), gradient + offsets_[0]);
}

double PositioningTrainer::Gradient(std::span<const float> features, std::span<const float> targets) {
  Forward(features);
  const double loss = GaussianNllBatch(output_, targets, output_gradient_);
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
    const auto weights = all.subspan(offsets_[l], kDense[l].weight_count());
    network.weights[l].assign(weights.begin(), weights.end());
  }
  network.batch_norm_scale.resize(norm_.features());
  network.batch_norm_shift.resize(norm_.features());
  norm_.Fold(all.subspan(gamma_offset_, norm_.features()), all.subspan(gamma_offset_ + norm_.features()),
             network.batch_norm_scale, network.batch_norm_shift);
}

}  // namespace tributary::nn
