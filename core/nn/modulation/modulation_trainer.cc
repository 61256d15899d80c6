#include "core/nn/modulation/modulation_trainer.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/nn/kernel/random_stream.h"
#include "core/nn/modulation/modulation_inference.h"
#include "core/nn/optimise/cross_entropy.h"

namespace tributary::nn {

namespace {

std::vector<SequenceLayer> TrainingLayers(const ModulationArchitecture& architecture, bool norms) {
  std::vector<SequenceLayer> layers(architecture.layers.begin(), architecture.layers.end());
  for (SequenceLayer& layer : layers) layer.norm = norms && layer.kind == SequenceLayerKind::kConvolution;
  return layers;
}

}  // namespace

ModulationTrainer::ModulationTrainer(const ModulationArchitecture& architecture, const Options& options)
    : network_layout_(architecture.tensors()),
      layers_(TrainingLayers(architecture, architecture.trained_with_norms && options.from.empty())),
      layout_(SequenceTensors(kModulationInput, layers_)),
      stack_(kModulationInput, layers_, layout_),
      schedule_{options.peak_learning_rate, options.steps},
      parameters_(layout_.size()),
      gradient_(layout_.size()),
      adam_(layout_.size()) {
  if (options.from.empty()) {
    DrawWeights(options.seed, architecture.layers.back().name);
  } else {
    std::ranges::copy(options.from, parameters_.begin());
  }
}

// Uniform with variance 2 / inputs before a ReLU (He et al., 2015). The last layer starts near zero, where
// every class is as likely. Biases start at zero, norms change nothing but the statistics.
void ModulationTrainer::DrawWeights(std::uint64_t seed, std::string_view last_layer) {
  RandomStream random(seed);
  for (const parameters::TensorShape& tensor : layout_.tensors()) {
    const std::span<float> values = layout_.Range(tensor.name).Of(std::span(parameters_));
    if (tensor.name.ends_with(".scale")) std::ranges::fill(values, 1.0f);
    if (tensor.shape.size() < 2) continue;
    double inputs = 1;
    for (std::size_t i = 1; i < tensor.shape.size(); ++i) inputs *= static_cast<double>(tensor.shape[i]);
    const double limit = std::sqrt(3.0 * (tensor.name.starts_with(last_layer) ? 0.02 : 2.0) / inputs);
    for (float& weight : values) weight = static_cast<float>(random.Uniform(-limit, limit));
  }
}

double ModulationTrainer::Gradient(std::span<const float> bursts, std::span<const std::uint8_t> classes) {
  constexpr std::size_t kBurst = kModulationInput.size();
  constexpr std::size_t kLogitFloats = kModulationClasses * kSequenceLanes;
  const std::size_t passes = (classes.size() + kSequenceLanes - 1) / kSequenceLanes;
  stack_.Reserve(classes.size());
  output_gradient_.resize(passes * kLogitFloats);
  std::ranges::fill(gradient_, 0.0f);
  stack_.SetParameters(parameters_);
  const auto lanes_of = [&](std::size_t pass) {
    return std::min(kSequenceLanes, classes.size() - pass * kSequenceLanes);
  };
  for (std::size_t pass = 0; pass < passes; ++pass) {
    LayOutBursts(bursts.subspan(pass * kSequenceLanes * kBurst, lanes_of(pass) * kBurst), stack_.input(pass));
  }
  const std::span<const float> logits = stack_.Forward(classes.size());
  double loss = 0;
  const double weight = 1.0 / static_cast<double>(classes.size());
  for (std::size_t pass = 0; pass < passes; ++pass) {
    loss += CrossEntropy(logits.subspan(pass * kLogitFloats, kLogitFloats), kSequenceLanes,
                         classes.subspan(pass * kSequenceLanes, lanes_of(pass)), static_cast<float>(weight),
                         std::span(output_gradient_).subspan(pass * kLogitFloats, kLogitFloats));
  }
  stack_.Backward(output_gradient_, gradient_);
  return loss * weight;
}

double ModulationTrainer::Step(std::span<const float> bursts, std::span<const std::uint8_t> classes) {
  const double loss = Gradient(bursts, classes);
  adam_.Step(parameters_, gradient_, schedule_.Rate(steps_done_++));
  return loss;
}

std::vector<float> ModulationTrainer::NetworkParameters() const {
  std::vector<float> result(network_layout_.size());
  stack_.Fold(parameters_, network_layout_, result);
  return result;
}

std::uint64_t ModulationTrainerBytes(const ModulationArchitecture& architecture, std::size_t batch) {
  const std::uint64_t passes = (batch + kSequenceLanes - 1) / kSequenceLanes;
  std::uint64_t results = 0;
  for (const SequenceShape& shape : SequenceShapes(kModulationInput, architecture.layers)) {
    results += shape.size() * kSequenceLanes;
  }
  const std::uint64_t input = kModulationInput.size() * kSequenceLanes;
  const std::uint64_t logits = kModulationClasses * kSequenceLanes;
  // Values and gradients of each pass; one pass more for a convolution's spread gradient. Parameters, their
  // gradient, two moments, and a convolution's weights in two orders.
  constexpr std::uint64_t kVectors = 6;
  constexpr std::uint64_t kOfBlocks = std::uint64_t{64} << 10;  // alignment, names, plans
  return sizeof(float) * (passes * (input + 2 * results + logits) + input + 2 * results +
                          kVectors * ParameterLayout(architecture.tensors()).size()) +
         kOfBlocks;
}

}  // namespace tributary::nn
