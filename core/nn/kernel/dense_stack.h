// Dense layers, batch norms and ReLUs, one behind the other: forward and backward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/nn/kernel/batch_norm.h"
#include "core/nn/kernel/gemm.h"
#include "core/nn/kernel/parameter_layout.h"

namespace tributary::nn {

// kAffine: x · weight + bias for each feature, as a batch norm in its inference form.
enum class DenseStepKind { kDense, kNorm, kAffine, kRelu };

// Its tensors: of a dense layer <name>.weight [outputs × inputs], of a norm or an affine step <name>.weight
// and <name>.bias [outputs].
struct DenseStep {
  DenseStepKind kind;
  std::size_t inputs;
  std::size_t outputs;  // of all but a dense layer as many as inputs
  std::string name = {};
};

std::vector<parameters::TensorShape> DenseTensors(const std::vector<DenseStep>& steps);

// The activations that a forward pass keeps for the backward one. Feature-major.
struct DensePass {
  DensePass(const std::vector<DenseStep>& steps, std::size_t batch);

  const std::vector<float>& result() const { return outputs.back(); }

  MatrixView input = {};                    // the caller's, alive until Backward
  std::vector<std::vector<float>> outputs;  // of each step, [outputs × batch]
  std::vector<BatchNorm> norms;             // of each step; without features unless it is a norm
};

// Bytes that a pass and a stack hold.
std::uint64_t DensePassBytes(const std::vector<DenseStep>& steps, std::uint64_t batch);
std::uint64_t DenseStackBytes(const std::vector<DenseStep>& steps, std::uint64_t batch);

// Activations are feature-major [features × batch], weights row-major [outputs × inputs]; there are no
// biases. Always norms by the batch. The parameters are the caller's flat vector. One thread at a time;
// nothing is allocated after the constructor.
class DenseStack {
 public:
  // The first step is a dense layer.
  DenseStack(const std::vector<DenseStep>& steps, const ParameterLayout& layout, std::size_t batch);

  // input: [inputs × batch] with any strides.
  void Forward(std::span<const float> parameters, const MatrixView& input, DensePass& pass);

  // gradient += that of the parameters; writes that of the input unless the span is empty. Overwrites
  // output_gradient.
  void Backward(std::span<const float> parameters, const DensePass& pass, std::span<float> output_gradient,
                std::span<float> gradient, std::span<float> input_gradient);

 private:
  struct Step {
    DenseStepKind kind;
    std::size_t inputs, outputs;
    ParameterRange weight, bias;
    std::vector<float> input_gradient;  // of a dense layer behind the first step
  };
  MatrixView Input(const DensePass& pass, std::size_t step) const;
  void ForwardAffine(std::span<const float> parameters, const Step& step, std::span<float> values) const;
  // `input`: of the step, [features × batch].
  void BackwardAffine(std::span<const float> parameters, const Step& step, std::span<const float> input,
                      std::span<float> values, std::span<float> gradient) const;
  void BackwardNorm(std::span<const float> parameters, const Step& step, const BatchNorm& norm,
                    std::span<float> values, std::span<float> gradient);

  std::size_t batch_;
  std::vector<Step> steps_;
  Gemm gemm_;
  std::vector<float> weight_gradient_, bias_gradient_;  // of a norm
};

}  // namespace tributary::nn
