#include "core/nn/positioning/positioning_trainer.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/nn/optimise/gaussian_nll.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kLayers = 4;
constexpr std::size_t kNormStep = 2;  // behind the first layer and its ReLU

std::string LayerName(std::size_t layer) { return absl::StrCat("layer", layer + 1); }

std::vector<DenseStep> Steps(DenseStepKind norm) {
  std::vector<DenseStep> steps;
  for (std::size_t l = 0; l < kLayers; ++l) {
    const std::size_t inputs = PositioningNetwork::kWidths[l], outputs = PositioningNetwork::kWidths[l + 1];
    steps.push_back({DenseStepKind::kDense, inputs, outputs, LayerName(l)});
    if (l + 1 < kLayers) steps.push_back({DenseStepKind::kRelu, outputs, outputs});
    if (l == 0) steps.push_back({norm, outputs, outputs, "norm"});
  }
  return steps;
}

std::vector<DenseStep> Steps(const PositioningTrainer::Options& options) {
  return Steps(options.from == nullptr ? DenseStepKind::kNorm : DenseStepKind::kAffine);
}

}  // namespace

PositioningTrainer::PositioningTrainer(const Options& options)
    : batch_(options.batch),
      further_(options.from != nullptr),
      schedule_{options.peak_learning_rate, options.steps},
      layout_(DenseTensors(Steps(options))),
      stack_(Steps(options), layout_, batch_),
      pass_(Steps(options), batch_),
      parameters_(layout_.size()),
      gradient_(layout_.size()),
      output_gradient_(kGaussianOutputs * batch_),
      adam_(layout_.size()) {
  if (further_) {
    TakeWeights(*options.from);
  } else {
    DrawWeights(options.seed);
  }
}

void PositioningTrainer::TakeWeights(const PositioningNetwork& network) {
  const auto take = [this](const std::vector<float>& values, const std::string& name) {
    std::ranges::copy(values, layout_.Range(name).Of(std::span(parameters_)).begin());
  };
  for (std::size_t l = 0; l < kLayers; ++l) take(network.weights[l], LayerName(l) + ".weight");
  take(network.batch_norm_scale, "norm.weight");
  take(network.batch_norm_shift, "norm.bias");
}

void PositioningTrainer::DrawWeights(std::uint64_t seed) {
  // Uniform with variance 2 / inputs before a ReLU (He et al., 2015). The output layer starts near zero: with
  // a standard deviation of centimetres and an error of metres the likelihood would explode.
  std::mt19937_64 random(seed);
  for (std::size_t l = 0; l < kLayers; ++l) {
    const float variance =
        (l + 1 < kLayers ? 2.0f : 0.01f) / static_cast<float>(PositioningNetwork::kWidths[l]);
    const float limit = std::sqrt(3.0f * variance);
    for (float& weight : layout_.Range(LayerName(l) + ".weight").Of(std::span(parameters_))) {
      const float uniform =
          static_cast<float>(random() >> 40) * 0x1p-24f;  // the same with every standard library
      weight = limit * (2.0f * uniform - 1.0f);
    }
  }
  std::ranges::fill(layout_.Range("norm.weight").Of(std::span(parameters_)), 1.0f);
}

double PositioningTrainer::Gradient(std::span<const float> features, std::span<const float> targets) {
  stack_.Forward(parameters_, Transposed(RowMajor(features.data(), batch_, PositioningNetwork::kInputs)),
                 pass_);
  const double loss = GaussianNllBatch(pass_.result(), targets, output_gradient_);
  std::ranges::fill(gradient_, 0.0f);
  stack_.Backward(parameters_, pass_, output_gradient_, gradient_, {});
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
    const auto weights = layout_.Range(LayerName(l) + ".weight").Of(all);
    network.weights[l].assign(weights.begin(), weights.end());
  }
  if (further_) {
    const auto scale = layout_.Range("norm.weight").Of(all), shift = layout_.Range("norm.bias").Of(all);
    network.batch_norm_scale.assign(scale.begin(), scale.end());
    network.batch_norm_shift.assign(shift.begin(), shift.end());
    return;
  }
  const BatchNorm& norm = pass_.norms[kNormStep];
  network.batch_norm_scale.resize(norm.features());
  network.batch_norm_shift.resize(norm.features());
  norm.Fold(layout_.Range("norm.weight").Of(all), layout_.Range("norm.bias").Of(all),
            network.batch_norm_scale, network.batch_norm_shift);
}

std::uint64_t PositioningTrainerBytes(std::size_t batch) {
  const std::vector<DenseStep> steps = Steps(DenseStepKind::kAffine);
  constexpr std::uint64_t kVectors = 4;  // parameters, their gradient, two moments
  return DenseStackBytes(steps, batch) + DensePassBytes(steps, batch) +
         sizeof(float) * (kVectors * ParameterLayout(DenseTensors(steps)).size() + kGaussianOutputs * batch);
}

}  // namespace tributary::nn
