// Trains the positioning network: Gaussian negative log-likelihood, Adam, one cycle of the learning rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/nn/kernel/dense_stack.h"
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
    // Trains this network further, instead of random weights. Its batch norm stays in the inference form:
    // scale and shift are learned, the statistics of a batch are not looked at.
    const PositioningNetwork* from = nullptr;
  };

  explicit PositioningTrainer(const Options& options);

  // One step on standardised features [batch × 1024] and positions x, y in the panel's frame [batch × 2], m.
  // Returns the mean loss before the step.
  double Step(std::span<const float> features, std::span<const float> targets);

  // Loss and gradient of all parameters, without a step: layers 1 to 4 row-major, then beta and gamma of the
  // batch norm.
  double Gradient(std::span<const float> features, std::span<const float> targets);
  std::span<float> parameters() { return parameters_; }
  std::span<const float> gradient() const { return gradient_; }

  // Writes weights and batch norm, in inference form, into `network`; leaves the rest of it alone.
  void Export(PositioningNetwork& network) const;

 private:
  void DrawWeights(std::uint64_t seed);
  void TakeWeights(const PositioningNetwork& network);

  std::size_t batch_;
  bool further_;  // trains a given network
  OneCycle schedule_;
  std::uint64_t steps_done_ = 0;
  ParameterLayout layout_;
  DenseStack stack_;
  DensePass pass_;
  std::vector<float> parameters_, gradient_;
  std::vector<float> output_gradient_;  // [5 × batch]
  Adam adam_;
};

// Bytes that a trainer of a given network holds.
std::uint64_t PositioningTrainerBytes(std::size_t batch);

}  // namespace tributary::nn
