#include "core/graph/quantised/layer_sums.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/graph/window.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

// Where QLinearConv and QLinearMatMul have their inputs; scale and zero point follow the weights.
constexpr std::size_t kWeights = 3, kBias = 8;

absl::Status NoLayer(absl::string_view reason) { return absl::InvalidArgumentError(reason); }

void SetUnits(const IntegerWeights& weights, const QuantisedTensor& input, SumsFound& sums) {
  const double scale = input.quantisation.scale;
  for (const double weight_scale : weights.scales) sums.reals.units.push_back(scale * weight_scale);
}

}  // namespace

absl::Status SumsReader::SetConvolution(const Node& node, const IntegerWeights& weights,
                                        const QuantisedTensor& input, SumsFound& sums) const {
  const Shape& shape = weights.shape;
  if (shape.size() > 4) return NoLayer("the window has three dimensions");
  ASSIGN_OR_RETURN(sums.layer.window, WindowOf(lookup_.ContextFor(node), {shape.begin() + 2, shape.end()}));
  MakePlane(sums.layer.window);
  ASSIGN_OR_RETURN(sums.layer.groups, node.attributes.Integer("group", 1));
  sums.layer.kind = LayerKind::kConvolution;
  sums.layer.weights = weights.values;
  sums.layer.bias.resize(Size(shape[0]));
  SetUnits(weights, input, sums);
  return absl::OkStatus();
}

void SumsReader::SetMatrix(const IntegerWeights& weights, bool turned, const QuantisedTensor& input,
                           SumsFound& sums) const {
  const std::size_t inputs = Size(weights.shape[turned ? 1 : 0]),
                    outputs = Size(weights.shape[turned ? 0 : 1]);
  sums.layer.kind = LayerKind::kConvolution;
  sums.layer.window = OnePixel();
  sums.layer.weights.resize(weights.values.size());
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < inputs; ++i) {
      sums.layer.weights[o * inputs + i] = weights.values[turned ? o * inputs + i : i * outputs + o];
    }
  }
  sums.layer.bias.resize(outputs);
  SetUnits(weights, input, sums);
}

absl::Status SumsReader::ExpectMatrices(int left, int right) const {
  if (specs_[Size(left)].rank() == 2 && specs_[Size(right)].rank() == 2) return absl::OkStatus();
  return NoLayer("only products of two matrices are computed in integers");
}

absl::Status SumsReader::ReadConvolution(const Node& node, const QuantisedTensor& input,
                                         SumsFound& sums) const {
  ASSIGN_OR_RETURN(const IntegerWeights weights, lookup_.WeightsOf(node.inputs[1], 0));
  RETURN_IF_ERROR(SetConvolution(node, weights, input, sums));
  if (node.inputs.size() <= 2 || node.inputs[2] == kAbsent) return absl::OkStatus();
  return ReadBias(node.inputs[2], sums.layer.bias.size(), 1, sums);
}

absl::Status SumsReader::ReadMatrix(const Node& node, const QuantisedTensor& input, SumsFound& sums) const {
  ASSIGN_OR_RETURN(const std::int64_t a_transposed, node.attributes.Integer("transA", 0));
  ASSIGN_OR_RETURN(const std::int64_t b_transposed, node.attributes.Integer("transB", 0));
  ASSIGN_OR_RETURN(const float alpha, node.attributes.Real("alpha", 1));
  ASSIGN_OR_RETURN(const float beta, node.attributes.Real("beta", 1));
  if (a_transposed != 0) return NoLayer("A is transposed");
  if (!(alpha > 0)) return NoLayer("alpha is not above 0");
  RETURN_IF_ERROR(ExpectMatrices(node.inputs[0], node.inputs[1]));
  const bool turned = b_transposed != 0;
  ASSIGN_OR_RETURN(const IntegerWeights weights, lookup_.WeightsOf(node.inputs[1], turned ? 0 : 1));
  SetMatrix(weights, turned, input, sums);
  for (double& unit : sums.reals.units) unit *= alpha;
  if (node.operation != "Gemm" || node.inputs.size() <= 2 || node.inputs[2] == kAbsent) {
    return absl::OkStatus();
  }
  const Shape& c = specs_[Size(node.inputs[2])].shape;
  if (c.size() == 2 && c[0] != 1) return NoLayer("the bias is not one of channels");
  return ReadBias(node.inputs[2], sums.layer.bias.size(), beta, sums);
}

absl::Status SumsReader::ReadIntegerConvolution(const Node& node, const QuantisedTensor& input,
                                                SumsFound& sums) const {
  ASSIGN_OR_RETURN(const IntegerWeights weights, lookup_.WeightsAt(node, kWeights, 0));
  RETURN_IF_ERROR(SetConvolution(node, weights, input, sums));
  if (node.inputs.size() <= kBias || node.inputs[kBias] == kAbsent) return absl::OkStatus();
  const Array* const bias = lookup_.ConstantAt(node.inputs[kBias]);
  if (bias == nullptr) return NoLayer("the bias is not constant");
  const std::vector<double>& units = sums.reals.units;
  for (const std::int32_t value : bias->As<std::int32_t>()) {
    sums.reals.bias.push_back(value * units[units.size() == 1 ? 0 : sums.reals.bias.size()]);
  }
  return absl::OkStatus();
}

absl::Status SumsReader::ReadIntegerMatrix(const Node& node, const QuantisedTensor& input,
                                           SumsFound& sums) const {
  RETURN_IF_ERROR(ExpectMatrices(node.inputs[0], node.inputs[kWeights]));
  ASSIGN_OR_RETURN(const IntegerWeights weights, lookup_.WeightsAt(node, kWeights, 1));
  SetMatrix(weights, false, input, sums);
  return absl::OkStatus();
}

absl::Status SumsReader::ReadBias(int value, std::size_t channels, double beta, SumsFound& sums) const {
  const Array* const constant = lookup_.ConstantAt(value);
  if (constant == nullptr) return NoLayer("the bias is not constant");
  const std::span<const float> values = constant->As<float>();
  if (values.size() != 1 && values.size() != channels) return NoLayer("the bias is not one of channels");
  if (sums.reals.bias.empty()) sums.reals.bias.resize(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    sums.reals.bias[c] += beta * static_cast<double>(values[values.size() == 1 ? 0 : c]);
  }
  return absl::OkStatus();
}

absl::Status SumsReader::ReadPool(const Node& node, const QuantisedTensor& input, SumsFound& sums) const {
  sums.reals.units = {input.quantisation.scale};
  Window& window = sums.layer.window;
  sums.layer.kind = node.operation.ends_with("MaxPool") ? LayerKind::kMaxPool : LayerKind::kAveragePool;
  if (node.operation.starts_with("Global")) {
    const std::vector<std::int64_t> sides = {input.height(), input.width()};
    window = {.size = sides,
              .stride = {1, 1},
              .dilation = {1, 1},
              .before = {0, 0},
              .after = {0, 0},
              .input = sides,
              .output = {1, 1}};
  } else {
    ASSIGN_OR_RETURN(const Integers size, node.attributes.Integers("kernel_shape", {}));
    ASSIGN_OR_RETURN(const std::int64_t ceiling, node.attributes.Integer("ceil_mode", 0));
    ASSIGN_OR_RETURN(window, WindowOf(lookup_.ContextFor(node), size, ceiling != 0));
    MakePlane(window);
  }
  for (std::size_t d = 0; d < 2; ++d) {
    if (window.dilation[d] > 1 && window.before[d] + window.after[d] > 0) {
      return NoLayer("a window with gaps may see padding only");
    }
  }
  if (sums.layer.kind == LayerKind::kMaxPool) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::int64_t with_padding, node.attributes.Integer("count_include_pad", 0));
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t reach =
        (window.output[d] - 1) * window.stride[d] + (window.size[d] - 1) * window.dilation[d] + 1;
    const bool padded = window.before[d] + window.after[d] > 0;
    if ((padded && with_padding == 0) || reach > window.input[d] + window.before[d] + window.after[d]) {
      return NoLayer("windows at the edge have another divisor");
    }
  }
  sums.reals.units[0] /= static_cast<double>(window.taps());
  return absl::OkStatus();
}

absl::Status SumsReader::ReadMove(const Node& node, SumsFound& sums) const {
  sums.layer.kind = LayerKind::kMove;
  if (node.operation != "Transpose") return absl::OkStatus();
  Integers reversed;
  for (std::int64_t d = specs_[Size(node.inputs[0])].rank(); d-- > 0;) reversed.push_back(d);
  ASSIGN_OR_RETURN(sums.layer.permutation, node.attributes.Integers("perm", reversed));
  return absl::OkStatus();
}

}  // namespace tributary::graph
