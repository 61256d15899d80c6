#include "core/nn/kernel/dense_stack.h"

#include <algorithm>

namespace tributary::nn {

std::vector<parameters::TensorShape> DenseTensors(const std::vector<DenseStep>& steps) {
  std::vector<parameters::TensorShape> tensors;
  for (const DenseStep& step : steps) {
    if (step.kind == DenseStepKind::kDense) {
      tensors.push_back({step.name + ".weight", {step.outputs, step.inputs}});
    } else if (step.kind != DenseStepKind::kRelu) {
      for (const char* name : {".weight", ".bias"}) tensors.push_back({step.name + name, {step.outputs}});
    }
  }
  return tensors;
}

DensePass::DensePass(const std::vector<DenseStep>& steps, std::size_t batch) {
  for (const DenseStep& step : steps) {
    outputs.emplace_back(step.outputs * batch);
    norms.emplace_back(step.kind == DenseStepKind::kNorm ? step.outputs : 0, batch);
  }
}

std::uint64_t DensePassBytes(const std::vector<DenseStep>& steps, std::uint64_t batch) {
  std::uint64_t floats = 0;
  for (const DenseStep& step : steps) {
    floats += step.outputs * batch;
    if (step.kind == DenseStepKind::kNorm) floats += step.outputs * (batch + 3);  // BatchNorm's
  }
  return sizeof(float) * floats;
}

std::uint64_t DenseStackBytes(const std::vector<DenseStep>& steps, std::uint64_t batch) {
  std::uint64_t floats = 0, widest = 0;
  for (const DenseStep& step : steps) {
    if (step.kind == DenseStepKind::kDense && &step != &steps.front()) floats += step.inputs * batch;
    widest = std::max<std::uint64_t>(widest, step.outputs);
  }
  return sizeof(float) * (floats + 2 * widest) + Gemm::kBytes;
}

DenseStack::DenseStack(const std::vector<DenseStep>& steps, const ParameterLayout& layout, std::size_t batch)
    : batch_(batch) {
  for (const DenseStep& step : steps) {
    const bool inner_layer = step.kind == DenseStepKind::kDense && !steps_.empty();
    steps_.push_back({step.kind, step.inputs, step.outputs, layout.Range(step.name + ".weight"),
                      layout.Range(step.name + ".bias"),
                      std::vector<float>(inner_layer ? step.inputs * batch : 0)});
    weight_gradient_.resize(std::max(weight_gradient_.size(), step.outputs));
  }
  bias_gradient_.resize(weight_gradient_.size());
}

MatrixView DenseStack::Input(const DensePass& pass, std::size_t step) const {
  if (step == 0) return pass.input;
  return RowMajor(pass.outputs[step - 1].data(), steps_[step].inputs, batch_);
}

void DenseStack::Forward(std::span<const float> parameters, const MatrixView& input, DensePass& pass) {
  pass.input = input;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    std::vector<float>& output = pass.outputs[i];
    if (step.kind == DenseStepKind::kDense) {
      gemm_.Multiply(RowMajor(step.weight.Of(parameters).data(), step.outputs, step.inputs), Input(pass, i),
                     output.data());
      continue;
    }
    std::ranges::copy(pass.outputs[i - 1], output.begin());
    if (step.kind == DenseStepKind::kRelu) {
      ReluForward(output);
    } else if (step.kind == DenseStepKind::kAffine) {
      ForwardAffine(parameters, step, output);
    } else {
      pass.norms[i].TrainForward(step.weight.Of(parameters), step.bias.Of(parameters), batch_, output.data());
    }
  }
}

void DenseStack::ForwardAffine(std::span<const float> parameters, const Step& step,
                               std::span<float> values) const {
  const std::span<const float> weight = step.weight.Of(parameters), bias = step.bias.Of(parameters);
  for (std::size_t f = 0; f < step.outputs; ++f) {
    for (float& value : values.subspan(f * batch_, batch_)) value = value * weight[f] + bias[f];
  }
}

void DenseStack::BackwardAffine(std::span<const float> parameters, const Step& step,
                                std::span<const float> input, std::span<float> values,
                                std::span<float> gradient) const {
  const std::span<const float> weight = step.weight.Of(parameters);
  for (std::size_t f = 0; f < step.outputs; ++f) {
    double sum = 0, product = 0;
    for (std::size_t i = f * batch_; i < (f + 1) * batch_; ++i) {
      sum += values[i];
      product += static_cast<double>(values[i]) * input[i];
      values[i] *= weight[f];
    }
    step.weight.Of(gradient)[f] += static_cast<float>(product);
    step.bias.Of(gradient)[f] += static_cast<float>(sum);
  }
}

void DenseStack::BackwardNorm(std::span<const float> parameters, const Step& step, const BatchNorm& norm,
                              std::span<float> values, std::span<float> gradient) {
  norm.Backward(step.weight.Of(parameters), batch_, values.data(), weight_gradient_, bias_gradient_);
  for (std::size_t f = 0; f < norm.features(); ++f) {
    step.weight.Of(gradient)[f] += weight_gradient_[f];
    step.bias.Of(gradient)[f] += bias_gradient_[f];
  }
}

void DenseStack::Backward(std::span<const float> parameters, const DensePass& pass,
                          std::span<float> output_gradient, std::span<float> gradient,
                          std::span<float> input_gradient) {
  std::span<float> values = output_gradient;
  for (std::size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    if (step.kind == DenseStepKind::kRelu) ReluBackward(pass.outputs[i], values);
    if (step.kind == DenseStepKind::kNorm) BackwardNorm(parameters, step, pass.norms[i], values, gradient);
    if (step.kind == DenseStepKind::kAffine) {
      BackwardAffine(parameters, step, pass.outputs[i - 1], values, gradient);
    }
    if (step.kind != DenseStepKind::kDense) continue;
    const MatrixView above = RowMajor(values.data(), step.outputs, batch_);
    gemm_.Multiply(above, Transposed(Input(pass, i)), step.weight.Of(gradient).data(),
                   /*accumulate=*/true);
    const std::span<float> below = i == 0 ? input_gradient : std::span(step.input_gradient);
    if (below.empty()) return;
    gemm_.Multiply(Transposed(RowMajor(step.weight.Of(parameters).data(), step.outputs, step.inputs)), above,
                   below.data());
    values = below;
  }
}

}  // namespace tributary::nn
