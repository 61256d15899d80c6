// Projector and predictor of SimSiam and BYOL: two dense layers with a batch norm between them. A projector
// has another one after the second layer.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/nn/kernel/batch_norm.h"
#include "core/nn/kernel/gemm.h"
#include "core/nn/kernel/parameter_layout.h"

namespace tributary::nn {

struct ProjectionHeadShape {
  std::string name;  // of its tensors: <name>.linear1.weight, <name>.norm1.weight, .bias, …
  std::size_t inputs;
  std::size_t hidden;
  std::size_t outputs;
  bool norm;         // a batch norm before the ReLU
  bool output_norm;  // and one behind the second layer
};

std::vector<parameters::TensorShape> ProjectionHeadTensors(const ProjectionHeadShape& shape);

// The activations that a forward pass keeps for the backward one. Feature-major.
struct ProjectionHeadPass {
  ProjectionHeadPass(const ProjectionHeadShape& shape, std::size_t batch);

  std::span<const float> input;  // the caller's, alive until Backward
  std::vector<float> hidden;     // after the ReLU, [hidden × batch]
  std::vector<float> output;     // [outputs × batch]
  BatchNorm hidden_norm, output_norm;
};

// Always norms by the batch. The parameters are the caller's flat vector. One thread at a time; nothing is
// allocated after the constructor.
class ProjectionHead {
 public:
  ProjectionHead(const ProjectionHeadShape& shape, const ParameterLayout& layout, std::size_t batch);

  void Forward(std::span<const float> parameters, std::span<const float> input, ProjectionHeadPass& pass);

  // gradient += that of the parameters; writes that of the input. Overwrites output_gradient.
  void Backward(std::span<const float> parameters, const ProjectionHeadPass& pass,
                std::span<float> output_gradient, std::span<float> gradient, std::span<float> input_gradient);

 private:
  struct NormRanges {
    ParameterRange scale, shift;
  };
  void BackwardNorm(std::span<const float> parameters, const NormRanges& range, const BatchNorm& norm,
                    std::span<float> values, std::span<float> gradient);

  ProjectionHeadShape shape_;
  std::size_t batch_;
  Dense first_, second_;
  ParameterRange first_weight_, second_weight_;
  NormRanges hidden_norm_, output_norm_;
  Gemm gemm_;
  std::vector<float> hidden_gradient_;
  std::vector<float> scale_gradient_, shift_gradient_;
};

}  // namespace tributary::nn
