#include "core/nn/encoder/projection_head.h"

#include <algorithm>

namespace tributary::nn {

std::vector<parameters::TensorShape> ProjectionHeadTensors(const ProjectionHeadShape& shape) {
  std::vector<parameters::TensorShape> tensors = {
      {shape.name + ".linear1.weight", {shape.hidden, shape.inputs}},
      {shape.name + ".linear2.weight", {shape.outputs, shape.hidden}}};
  const auto add_norm = [&](const char* name, std::size_t width) {
    tensors.push_back({shape.name + name + ".weight", {width}});
    tensors.push_back({shape.name + name + ".bias", {width}});
  };
  if (shape.norm) add_norm(".norm1", shape.hidden);
  if (shape.output_norm) add_norm(".norm2", shape.outputs);
  return tensors;
}

ProjectionHeadPass::ProjectionHeadPass(const ProjectionHeadShape& shape, std::size_t batch)
    : hidden(shape.hidden * batch),
      output(shape.outputs * batch),
      hidden_norm(shape.hidden, batch),
      output_norm(shape.outputs, batch) {}

ProjectionHead::ProjectionHead(const ProjectionHeadShape& shape, const ParameterLayout& layout,
                               std::size_t batch)
    : shape_(shape),
      batch_(batch),
      first_{shape.inputs, shape.hidden},
      second_{shape.hidden, shape.outputs},
      first_weight_(layout.Range(shape.name + ".linear1.weight")),
      second_weight_(layout.Range(shape.name + ".linear2.weight")),
      hidden_norm_{layout.Range(shape.name + ".norm1.weight"), layout.Range(shape.name + ".norm1.bias")},
      output_norm_{layout.Range(shape.name + ".norm2.weight"), layout.Range(shape.name + ".norm2.bias")},
      hidden_gradient_(shape.hidden * batch),
      scale_gradient_(std::max(shape.hidden, shape.outputs)),
      shift_gradient_(scale_gradient_.size()) {}

void ProjectionHead::Forward(std::span<const float> parameters, std::span<const float> input,
                             ProjectionHeadPass& pass) {
  pass.input = input;
  first_.Forward(gemm_, first_weight_.Of(parameters).data(), RowMajor(input.data(), shape_.inputs, batch_),
                 pass.hidden.data());
  if (shape_.norm) {
    pass.hidden_norm.TrainForward(hidden_norm_.scale.Of(parameters), hidden_norm_.shift.Of(parameters),
                                  batch_, pass.hidden.data());
  }
  ReluForward(pass.hidden);
  second_.Forward(gemm_, second_weight_.Of(parameters).data(),
                  RowMajor(pass.hidden.data(), shape_.hidden, batch_), pass.output.data());
  if (shape_.output_norm) {
    pass.output_norm.TrainForward(output_norm_.scale.Of(parameters), output_norm_.shift.Of(parameters),
                                  batch_, pass.output.data());
  }
}

void ProjectionHead::BackwardNorm(std::span<const float> parameters, const NormRanges& range,
                                  const BatchNorm& norm, std::span<float> values, std::span<float> gradient) {
  const std::span<float> scale = std::span(scale_gradient_).first(norm.features());
  const std::span<float> shift = std::span(shift_gradient_).first(norm.features());
  norm.Backward(range.scale.Of(parameters), batch_, values.data(), scale, shift);
  for (std::size_t f = 0; f < norm.features(); ++f) {
    range.scale.Of(gradient)[f] += scale[f];
    range.shift.Of(gradient)[f] += shift[f];
  }
}

void ProjectionHead::Backward(std::span<const float> parameters, const ProjectionHeadPass& pass,
                              std::span<float> output_gradient, std::span<float> gradient,
                              std::span<float> input_gradient) {
  if (shape_.output_norm) {
    BackwardNorm(parameters, output_norm_, pass.output_norm, output_gradient, gradient);
  }
  second_.BackwardWeights(gemm_, RowMajor(pass.hidden.data(), shape_.hidden, batch_), output_gradient.data(),
                          second_weight_.Of(gradient).data(), /*accumulate=*/true);
  second_.BackwardInput(gemm_, second_weight_.Of(parameters).data(), output_gradient.data(), batch_,
                        hidden_gradient_.data());
  ReluBackward(pass.hidden, hidden_gradient_);
  if (shape_.norm) BackwardNorm(parameters, hidden_norm_, pass.hidden_norm, hidden_gradient_, gradient);
  first_.BackwardWeights(gemm_, RowMajor(pass.input.data(), shape_.inputs, batch_), hidden_gradient_.data(),
                         first_weight_.Of(gradient).data(), /*accumulate=*/true);
  first_.BackwardInput(gemm_, first_weight_.Of(parameters).data(), hidden_gradient_.data(), batch_,
                       input_gradient.data());
}

}  // namespace tributary::nn
