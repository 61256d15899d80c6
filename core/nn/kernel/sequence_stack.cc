#include "core/nn/kernel/sequence_stack.h"

#include <algorithm>
#include <cmath>
#include <string>

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
    if (HasWeights(layer) && layer.bias) tensors.push_back({TensorName(layer, "bias"), {layer.outputs}});
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
    : input_shape_(input), input_(AllocateFloats(input.size() * kSequenceLanes)) {
  for (const SequenceLayer& layer : layers) {
    const SequenceShape shape = ShapeBehind(input, layer);
    Step step{.layer = layer,
              .shape = shape,
              .weight = layout.Range(TensorName(layer, "weight")),
              .bias = layout.Range(TensorName(layer, "bias")),
              .convolution = std::nullopt,
              .output = AllocateFloats(shape.size() * kSequenceLanes),
              .gradient = AllocateFloats(shape.size() * kSequenceLanes)};
    if (HasWeights(layer)) step.convolution.emplace(ConvolutionOf(input, layer));
    steps_.push_back(std::move(step));
    input = shape;
  }
}

void SequenceStack::SetParameters(std::span<const float> parameters) {
  for (Step& step : steps_) {
    if (step.convolution) step.convolution->SetWeights(step.weight.Of(parameters), step.bias.Of(parameters));
  }
}

std::span<const float> SequenceStack::Forward() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    float* output = step.output.get();
    if (step.convolution) {
      step.convolution->Forward(InputOf(i), output);
    } else if (step.layer.kind == Kind::kMaxPool) {
      MaxPool(InputShapeOf(i), step.layer.size, InputOf(i), output);
    } else {
      MeanPool(InputShapeOf(i), InputOf(i), output);
    }
    if (step.layer.relu) ClipSequences(step.shape, output);
  }
  return {steps_.back().output.get(), output_shape().size() * kSequenceLanes};
}

void SequenceStack::UpdateRanges(std::size_t lanes, std::span<float> ranges) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (std::size_t k = 0; k < steps_[i].shape.size() * kSequenceLanes; ++k) {
      if (k % kSequenceLanes < lanes) ranges[i] = std::max(ranges[i], std::abs(steps_[i].output[k]));
    }
  }
}

void SequenceStack::Backward(std::span<const float> output_gradient, std::span<float> gradient) {
  std::ranges::copy(output_gradient, steps_.back().gradient.get());
  for (std::size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    float* above = step.gradient.get();
    if (step.layer.relu) ClipSequencesGradient(step.shape, step.output.get(), above);
    if (step.convolution) {
      step.convolution->BackwardWeights(InputOf(i), above, step.weight.Of(gradient), step.bias.Of(gradient));
    }
    if (i == 0) return;
    float* below = steps_[i - 1].gradient.get();
    if (step.convolution) {
      step.convolution->BackwardInput(above, below);
    } else if (step.layer.kind == Kind::kMaxPool) {
      MaxPoolGradient(InputShapeOf(i), step.layer.size, InputOf(i), step.output.get(), above, below);
    } else {
      MeanPoolGradient(InputShapeOf(i), above, below);
    }
  }
}

}  // namespace tributary::nn
