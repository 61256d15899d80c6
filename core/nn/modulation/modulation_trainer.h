// Trains a modulation network: cross-entropy, Adam, one cycle of the learning rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/nn/kernel/parameter_layout.h"
#include "core/nn/kernel/sequence_stack.h"
#include "core/nn/modulation/modulation_network.h"
#include "core/nn/optimise/gradient_descent.h"

namespace tributary::nn {

// Owns parameters, moments and buffers; a step allocates only if its batch is larger than any before. One
// thread at a time.
class ModulationTrainer {
 public:
  struct Options {
    std::uint64_t steps = 10'000;
    double peak_learning_rate = 16e-3;
    std::uint64_t seed = 1;  // of the initial weights
    // Goes on with these parameters of the same architecture, without norms, instead of random weights.
    std::span<const float> from = {};
  };

  ModulationTrainer(const ModulationArchitecture& architecture, const Options& options);

  // One step on bursts [n × 256] and their classes [n], n > 0. Returns the mean loss before the step.
  double Step(std::span<const float> bursts, std::span<const std::uint8_t> classes);

  // Loss and gradient of all parameters, without a step.
  double Gradient(std::span<const float> bursts, std::span<const std::uint8_t> classes);

  // Where each tensor lies in these two: with norms, other tensors than those of the architecture.
  const ParameterLayout& layout() const { return layout_; }
  std::span<float> parameters() { return parameters_; }
  std::span<const float> gradient() const { return gradient_; }

  // As the architecture's tensors, with the norms folded.
  std::vector<float> NetworkParameters() const;

 private:
  void DrawWeights(std::uint64_t seed, std::string_view last_layer);

  ParameterLayout network_layout_;
  std::vector<SequenceLayer> layers_;  // with their norms
  ParameterLayout layout_;
  SequenceStack stack_;
  OneCycle schedule_;
  std::uint64_t steps_done_ = 0;
  std::vector<float> parameters_, gradient_;
  std::vector<float> output_gradient_;  // [passes × 10 × kSequenceLanes]
  Adam adam_;
};

// Bytes that a trainer which goes on from given parameters holds at most after steps on so many bursts.
std::uint64_t ModulationTrainerBytes(const ModulationArchitecture& architecture, std::size_t batch);

}  // namespace tributary::nn
