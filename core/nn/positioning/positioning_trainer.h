// Trains the positioning network: Gaussian negative log-likelihood, Adam, one cycle of the learning rate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/nn/kernel/batch_norm.h"
#include "core/nn/kernel/gemm.h"
#include "core/nn/kernel/parameter_layout.h"
#include "core/nn/optimise/gradient_descent.h"
#include "core/nn/positioning/positioning_network.h"

namespace tributary::nn {

// Owns parameters, moments and buffers; a step allocates nothing. One thread at a time.
class PositioningTrainer {
 public:
  struct Options {
    std::size_t batch = 256;
    std::uint64_t steps = 31'250;
    double peak_learning_rate = 2e-3;
    std::uint64_t seed = 1;  // of the initial weights
  };

  explicit PositioningTrainer(const Options& options);

  // One step on standardised features [batch × 1024] and positions x, y in the panel's frame [batch × 2], m.
  // Returns the mean loss before the step.
  double Step(std::span<const float> features, std::span<const float> targets);

  // Loss and gradient of all parameters, without a step: layers 1 to 4 row-major, then gamma and beta of the
  // batch norm.
  double Gradient(std::span<const float> features, std::span<const float> targets);
  std::span<float> parameters() { return parameters_; }
  std::span<const float> gradient() const { return gradient_; }

  // Writes weights and batch norm, in inference form, into `network`; leaves the rest of it alone.
  void Export(PositioningNetwork& network) const;

 private:
  static constexpr std::size_t kLayers = 4;

  // What a layer multiplies: the samples, then the outputs of the layer before, normed behind the first.
  MatrixView Input(std::size_t layer, std::span<const float> features) const;
  void Forward(std::span<const float> features);
  void Backward(std::span<const float> features);

  std::size_t batch_;
  OneCycle schedule_;
  std::uint64_t steps_done_ = 0;
  std::array<ParameterRange, kLayers> weights_;
  ParameterRange gamma_, beta_;
  std::vector<float> parameters_;
  std::vector<float> gradient_;
  Adam adam_;
  BatchNorm norm_;
  Gemm gemm_;
  // Feature-major, [width × batch]: each layer's result after its ReLU, and the gradient with respect to it.
  std::array<std::vector<float>, kLayers> outputs_, output_gradients_;
  std::vector<float> normalised_;  // outputs_[0] after the norm
};

}  // namespace tributary::nn
