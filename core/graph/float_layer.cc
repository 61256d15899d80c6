#include "core/graph/float_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>

#include "core/status/macros.h"

namespace tributary::graph {
namespace {

constexpr std::size_t kFloatImage = 0, kFloatWeights = 1, kFloatBias = 2;

absl::StatusOr<std::span<const float>> ConstantFloats(const NodeContext& context, std::size_t input) {
  const Array* const constant = context.constants[input];
  if (constant != nullptr) return constant->As<float>();
  return absl::InvalidArgumentError(input == kFloatWeights ? "the weights are not constant"
                                                           : "the bias is not constant");
}

// factor · each value. What the node gives is factor · Σ, so a factor that takes a value out of the normal
// numbers of float32, where the sum need not leave them, would change the results.
absl::Status MultiplyBy(float factor, std::span<float> values) {
  if (factor == 1) return absl::OkStatus();
  for (float& value : values) {
    const float product = factor * value;
    const bool vanishes = factor != 0 && value != 0 && !std::isnormal(product);
    if (std::isfinite(value) && (vanishes || !std::isfinite(product))) {
      return absl::InvalidArgumentError(
          fmt::format("a factor of {} takes {} out of the range of float32", factor, value));
    }
    value = product;
  }
  return absl::OkStatus();
}

// factor · the bias, which has one element or one for each output.
absl::Status AddFloatBias(const NodeContext& context, float factor, FloatLayer& layer) {
  layer.bias.resize(Size(layer.outputs));
  if (!context.Has(kFloatBias)) return absl::OkStatus();
  const Shape& shape = context.inputs[kFloatBias]->shape;
  ASSIGN_OR_RETURN(const std::span<const float> values, ConstantFloats(context, kFloatBias));
  const bool of_channels =
      values.size() == 1 || (values.size() == layer.bias.size() && shape.back() == layer.outputs);
  if (!of_channels) return absl::InvalidArgumentError("the bias is not one of channels");
  for (std::size_t o = 0; o < layer.bias.size(); ++o) layer.bias[o] = values[values.size() == 1 ? 0 : o];
  return MultiplyBy(factor, layer.bias);
}

absl::StatusOr<FloatLayer> ConvolutionLayer(const NodeContext& context) {
  const Shape& shape = context.inputs[kFloatWeights]->shape;
  ASSIGN_OR_RETURN(const std::int64_t groups, context.attributes().Integer("group", 1));
  if (groups != 1) return absl::InvalidArgumentError("its channels are in groups");
  if (shape.size() > 4) return absl::InvalidArgumentError("the window has three dimensions");
  FloatLayer layer{.images = context.inputs[kFloatImage]->shape[0], .inputs = shape[1], .outputs = shape[0]};
  ASSIGN_OR_RETURN(layer.window, WindowOf(context, {shape.begin() + 2, shape.end()}));
  MakePlane(layer.window);
  ASSIGN_OR_RETURN(const std::span<const float> weights, ConstantFloats(context, kFloatWeights));
  layer.weights.assign(weights.begin(), weights.end());
  RETURN_IF_ERROR(AddFloatBias(context, 1, layer));
  return layer;
}

absl::StatusOr<FloatLayer> ProductLayer(const NodeContext& context) {
  ASSIGN_OR_RETURN(const std::int64_t left_turned, context.attributes().Integer("transA", 0));
  ASSIGN_OR_RETURN(const std::int64_t right_turned, context.attributes().Integer("transB", 0));
  ASSIGN_OR_RETURN(const float alpha, context.attributes().Real("alpha", 1));
  ASSIGN_OR_RETURN(const float beta, context.attributes().Real("beta", 1));
  const Shape& left = context.inputs[kFloatImage]->shape;
  const Shape& right = context.inputs[kFloatWeights]->shape;
  if (left.size() < 2 || right.size() != 2) return absl::InvalidArgumentError("it is no product of matrices");
  if (left_turned != 0) return absl::InvalidArgumentError("A is transposed");
  ASSIGN_OR_RETURN(const std::span<const float> weights, ConstantFloats(context, kFloatWeights));
  const bool turned = right_turned != 0;
  FloatLayer layer{
      .images = std::accumulate(left.begin(), left.end() - 1, std::int64_t{1}, std::multiplies<>()),
      .inputs = left.back(),
      .outputs = right[turned ? 0 : 1],
      .window = OnePixel()};
  layer.weights.resize(weights.size());
  const std::size_t inputs = Size(layer.inputs), outputs = Size(layer.outputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < inputs; ++i) {
      layer.weights[o * inputs + i] = weights[turned ? o * inputs + i : i * outputs + o];
    }
  }
  RETURN_IF_ERROR(MultiplyBy(alpha, layer.weights));
  RETURN_IF_ERROR(AddFloatBias(context, beta, layer));
  return layer;
}

}  // namespace

bool MayBeFloatLayer(const std::string& operation) {
  return operation == "Conv" || operation == "Gemm" || operation == "MatMul";
}

absl::StatusOr<FloatLayer> FloatLayerOf(const NodeContext& context) {
  ASSIGN_OR_RETURN(FloatLayer layer,
                   context.node->operation == "Conv" ? ConvolutionLayer(context) : ProductLayer(context));
  layer.name = context.node->name;
  return layer;
}

}  // namespace tributary::graph
