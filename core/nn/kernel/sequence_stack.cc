#include "core/nn/kernel/sequence_stack.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace tributary::nn {
namespace {

using Kind = SequenceLayerKind;

bool HasWeights(const SequenceLayer& layer) {
  return layer.kind == Kind::kConvolution || layer.kind == Kind::kDense;
}

// A dense layer is a convolution over one time step: [channels × length] and [channels · length × 1] are the
// same in memory.
Convolution1dShape ConvolutionOf(SequenceShape input, const SequenceLayer& layer) {
  if (layer.kind == Kind::kDense) return {.inputs = input.size(), .outputs = layer.outputs};
  return {.inputs = input.channels,
          .outputs = layer.outputs,
          .length = input.length,
          .kernel = layer.size,
          .stride = layer.stride,
          .groups = layer.groups};
}

SequenceShape ShapeBehind(SequenceShape input, const SequenceLayer& layer) {
  switch (layer.kind) {
    case Kind::kConvolution:
    case Kind::kDense:
      return {layer.outputs, ConvolutionOf(input, layer).output_length()};
    case Kind::kMaxPool:
      return {input.channels, input.length / layer.size};
    case Kind::kMean:
      break;
  }
  return {input.channels, 1};
}

std::size_t PassesOf(std::size_t sequences) { return (sequences + kSequenceLanes - 1) / kSequenceLanes; }

std::string TensorName(const SequenceLayer& layer, std::string_view what) {
  return std::string(layer.name) + "." + std::string(what);
}

}  // namespace

std::vector<SequenceShape> SequenceShapes(SequenceShape input, std::span<const SequenceLayer> layers) {
  std::vector<SequenceShape> shapes;
  for (const SequenceLayer& layer : layers) shapes.push_back(input = ShapeBehind(input, layer));
  return shapes;
}

std::vector<parameters::TensorShape> SequenceTensors(SequenceShape input,
                                                     std::span<const SequenceLayer> layers) {
  std::vector<parameters::TensorShape> tensors;
  for (const SequenceLayer& layer : layers) {
    if (layer.kind == Kind::kDense) {
      tensors.push_back({TensorName(layer, "weight"), {layer.outputs, input.size()}});
    } else if (layer.kind == Kind::kConvolution) {
      tensors.push_back(
          {TensorName(layer, "weight"), {layer.outputs, input.channels / layer.groups, layer.size}});
    }
    for (const auto& [name, present] : {std::pair("bias", layer.bias && !layer.norm),
                                        std::pair("scale", layer.norm), std::pair("shift", layer.norm)}) {
      if (HasWeights(layer) && present) tensors.push_back({TensorName(layer, name), {layer.outputs}});
    }
    input = ShapeBehind(input, layer);
  }
  return tensors;
}

std::size_t SequenceMultiplications(SequenceShape input, std::span<const SequenceLayer> layers) {
  std::size_t count = 0;
  for (const SequenceLayer& layer : layers) {
    if (HasWeights(layer)) {
      const Convolution1dShape shape = ConvolutionOf(input, layer);
      count += shape.weights() * shape.output_length();
    }
    input = ShapeBehind(input, layer);
  }
  return count;
}

SequenceStack::SequenceStack(SequenceShape input, std::span<const SequenceLayer> layers,
                             const ParameterLayout& layout)
    : input_shape_(input) {
  for (const SequenceLayer& layer : layers) {
    const SequenceShape shape = ShapeBehind(input, layer);
    Step step{.layer = layer,
              .shape = shape,
              .weight = layout.Range(TensorName(layer, "weight")),
              .bias = layout.Range(TensorName(layer, "bias")),
              .scale = layout.Range(TensorName(layer, "scale")),
              .shift = layout.Range(TensorName(layer, "shift")),
              .convolution = std::nullopt,
              .norm = std::nullopt,
              .before_norm = {},
              .output = {},
              .gradient = {}};
    if (HasWeights(layer)) step.convolution.emplace(ConvolutionOf(input, layer));
    if (HasWeights(layer) && layer.norm) step.norm.emplace(shape);
    steps_.push_back(std::move(step));
    input = shape;
  }
  Reserve(kSequenceLanes);
}

void SequenceStack::Reserve(std::size_t sequences) {
  const std::size_t passes = PassesOf(sequences);
  if (passes <= room_) return;
  room_ = passes;
  input_ = AllocateFloats(passes * input_shape_.size() * kSequenceLanes);
  for (Step& step : steps_) {
    step.output = AllocateFloats(passes * step.size());
    step.gradient = AllocateFloats(passes * step.size());
    if (step.norm) step.before_norm = AllocateFloats(passes * step.size());
  }
}

void SequenceStack::SetParameters(std::span<const float> parameters) {
  parameters_ = parameters;
  for (Step& step : steps_) {
    if (step.convolution) step.convolution->SetWeights(step.weight.Of(parameters), step.bias.Of(parameters));
  }
}

void SequenceStack::ForwardPass(std::size_t index, std::size_t pass) {
  Step& step = steps_[index];
  const float* input = InputOf(index, pass);
  float* output = (step.norm ? step.before_norm : step.output).get() + pass * step.size();
  if (step.convolution) {
    step.convolution->Forward(input, output);
  } else if (step.layer.kind == Kind::kMaxPool) {
    MaxPool(InputShapeOf(index), step.layer.size, input, output);
  } else {
    MeanPool(InputShapeOf(index), input, output);
  }
}

std::span<const float> SequenceStack::Forward(std::size_t sequences) {
  sequences_ = sequences;
  const std::size_t passes = PassesOf(sequences);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    for (std::size_t pass = 0; pass < passes; ++pass) ForwardPass(i, pass);
    if (step.norm) {
      step.norm->Forward(sequences, step.before_norm.get(), step.scale.Of(parameters_),
                         step.shift.Of(parameters_), step.output.get());
    }
    if (!step.layer.relu) continue;
    for (std::size_t pass = 0; pass < passes; ++pass) {
      ClipSequences(step.shape, step.output.get() + pass * step.size());
    }
  }
  return {steps_.back().output.get(), passes * steps_.back().size()};
}

void SequenceStack::UpdateRanges(std::size_t lanes, std::span<float> ranges) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (std::size_t k = 0; k < steps_[i].size(); ++k) {
      if (k % kSequenceLanes < lanes) ranges[i] = std::max(ranges[i], std::abs(steps_[i].output[k]));
    }
  }
}

void SequenceStack::BackwardPass(std::size_t index, std::size_t pass, std::span<float> gradient) {
  Step& step = steps_[index];
  const float* input = InputOf(index, pass);
  const float* above = step.gradient.get() + pass * step.size();
  if (step.convolution) {
    step.convolution->BackwardWeights(input, above, step.weight.Of(gradient), step.bias.Of(gradient));
  }
  if (index == 0) return;
  float* below = steps_[index - 1].gradient.get() + pass * steps_[index - 1].size();
  if (step.convolution) {
    step.convolution->BackwardInput(above, below);
  } else if (step.layer.kind == Kind::kMaxPool) {
    const float* maxima = step.output.get() + pass * step.size();
    MaxPoolGradient(InputShapeOf(index), step.layer.size, input, maxima, above, below);
  } else {
    MeanPoolGradient(InputShapeOf(index), above, below);
  }
}

void SequenceStack::Backward(std::span<const float> output_gradient, std::span<float> gradient) {
  std::ranges::copy(output_gradient, steps_.back().gradient.get());
  const std::size_t passes = PassesOf(sequences_);
  for (std::size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    for (std::size_t pass = 0; step.layer.relu && pass < passes; ++pass) {
      const std::size_t at = pass * step.size();
      ClipSequencesGradient(step.shape, step.output.get() + at, step.gradient.get() + at);
    }
    if (step.norm) {
      step.norm->Backward(sequences_, step.before_norm.get(), step.scale.Of(parameters_), step.gradient.get(),
                          step.scale.Of(gradient), step.shift.Of(gradient));
    }
    for (std::size_t pass = 0; pass < passes; ++pass) BackwardPass(i, pass, gradient);
  }
}

void SequenceStack::Fold(std::span<const float> parameters, const ParameterLayout& folded,
                         std::span<float> result) const {
  for (const Step& step : steps_) {
    if (!step.convolution) continue;
    const auto weight = folded.Range(TensorName(step.layer, "weight")).Of(result);
    const auto bias = folded.Range(TensorName(step.layer, "bias")).Of(result);
    std::ranges::copy(step.weight.Of(parameters), weight.begin());
    std::ranges::copy(step.bias.Of(parameters), bias.begin());
    if (!step.norm) continue;
    std::vector<float> factor(step.layer.outputs);
    step.norm->Fold(step.scale.Of(parameters), step.shift.Of(parameters), factor, bias);
    const std::size_t kernel = weight.size() / factor.size();
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] *= factor[i / kernel];
  }
}

}  // namespace tributary::nn
