#include "core/nn/modulation/modulation_trainer.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/nn/kernel/random_stream.h"
#include "core/nn/modulation/modulation_inference.h"
#include "core/nn/optimise/cross_entropy.h"

namespace tributary::nn {

ModulationTrainer::ModulationTrainer(const ModulationArchitecture& architecture, const Options& options)
    : layout_(architecture.tensors()),
      stack_(kModulationInput, architecture.layers, layout_),
      schedule_{options.peak_learning_rate, options.steps},
      parameters_(layout_.size()),
      gradient_(layout_.size()),
      output_gradient_(kModulationClasses * kSequenceLanes),
      adam_(layout_.size()) {
  // Uniform with variance 2 / inputs before a ReLU (He et al., 2015). The last layer starts near zero, where
  // every class is as likely. Biases start at zero.
  RandomStream random(options.seed);
  for (const parameters::TensorShape& tensor : layout_.tensors()) {
    if (tensor.shape.size() < 2) continue;
    double inputs = 1;
    for (std::size_t i = 1; i < tensor.shape.size(); ++i) inputs *= static_cast<double>(tensor.shape[i]);
    const bool last = tensor.name.starts_with(architecture.layers.back().name);
    const double limit = std::sqrt(3.0 * (last ? 0.02 : 2.0) / inputs);
    for (float& weight : layout_.Range(tensor.name).Of(std::span(parameters_))) {
      weight = static_cast<float>(random.Uniform(-limit, limit));
    }
  }
}

double ModulationTrainer::Gradient(std::span<const float> bursts, std::span<const std::uint8_t> classes) {
  constexpr std::size_t kBurstFloats = kModulationInput.size();
  std::ranges::fill(gradient_, 0.0f);
  stack_.SetParameters(parameters_);
  double loss = 0;
  const double weight = 1.0 / static_cast<double>(classes.size());
  for (std::size_t first = 0; first < classes.size(); first += kSequenceLanes) {
    const std::size_t count = std::min(kSequenceLanes, classes.size() - first);
    LayOutBursts(bursts.subspan(first * kBurstFloats, count * kBurstFloats), stack_.input());
    loss += CrossEntropy(stack_.Forward(), kSequenceLanes, classes.subspan(first, count),
                         static_cast<float>(weight), output_gradient_);
    stack_.Backward(output_gradient_, gradient_);
  }
  return loss * weight;
}

double ModulationTrainer::Step(std::span<const float> bursts, std::span<const std::uint8_t> classes) {
  const double loss = Gradient(bursts, classes);
  adam_.Step(parameters_, gradient_, schedule_.Rate(steps_done_++));
  return loss;
}

}  // namespace tributary::nn
