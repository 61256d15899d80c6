#include "core/graph/quantised/layer_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/graph/operation.h"
#include "core/graph/quantised/graph_lookup.h"
#include "core/graph/quantised/layer_factors.h"
#include "core/graph/window.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

constexpr std::size_t kNoNode = GraphLookup::kNoNode;
constexpr int kMostNested = 16;  // moves, pools and sums without a QuantizeLinear between them
constexpr std::string_view kMoves[] = {"Reshape",   "Flatten",  "Squeeze", "Unsqueeze",
                                       "Transpose", "Identity", "Dropout"};
constexpr std::string_view kMaxPools[] = {"MaxPool", "GlobalMaxPool"};
constexpr std::string_view kAveragePools[] = {"AveragePool", "GlobalAveragePool"};

bool Among(std::string_view name, auto& names) { return std::ranges::find(names, name) != std::end(names); }

absl::Status Unfit(absl::string_view reason) { return absl::InvalidArgumentError(reason); }

// What a node sums, before it is known which integers its result becomes.
struct SumsFound {
  QuantisedLayer layer;
  LayerReals reals;
  std::vector<std::size_t> nodes;  // the first gives the sums
};

class LayerFinder {
 public:
  LayerFinder(const Graph& graph, const std::deque<Spec>& specs)
      : graph_(graph), specs_(specs), lookup_(graph, specs) {
    found_.reasons.resize(graph.nodes.size());
  }

  FoundLayers Find() && {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].operation != "QuantizeLinear" || lookup_.IsConstant(graph_.nodes[n].outputs[0]))
        continue;
      at_ = n;
      absl::StatusOr<FoundLayer> layer = LayerEndingWith(n);
      if (!layer.ok()) {
        found_.reasons[at_] = std::string(layer.status().message());
        continue;
      }
      found_.layers.push_back(*std::move(layer));
    }
    return std::move(found_);
  }

 private:
  // `place`: of the integers; `value`: the graph's, whose name and shape they have.
  absl::Status KeepTensor(int place, int value, const Quantisation& quantisation) {
    const Shape& shape = specs_[Size(value)].shape;
    if (shape.size() < 2 || shape.size() > 4) {
      return Unfit(
          fmt::format("a tensor has {} dimensions; two to four are computed in integers", shape.size()));
    }
    if (std::ranges::count(shape, 0) > 0) return Unfit("a tensor has no element");
    found_.tensors.try_emplace(place, QuantisedTensor{graph_.values[Size(value)].name, shape, quantisation});
    return absl::OkStatus();
  }

  // The tensor of integers behind a float value. A pool or a move on the way becomes a layer.
  absl::StatusOr<int> OperandOf(int value, std::vector<std::size_t>& nodes) {
    const std::size_t producer = lookup_.ProducerOf(value);
    if (producer == kNoNode || lookup_.IsConstant(value)) return Unfit("an operand is not quantised");
    const Node& node = graph_.nodes[producer];
    if (node.operation == "DequantizeLinear") {
      const int integers = node.inputs[0];
      const ElementType type = specs_[Size(integers)].type;
      if (type == ElementType::kInt32) return Unfit("an operand is int32");
      ASSIGN_OR_RETURN(const Quantisation quantisation, lookup_.QuantisationOf(node, type));
      RETURN_IF_ERROR(KeepTensor(integers, integers, quantisation));
      if (found_.tensors.at(integers).quantisation != quantisation) {
        return Unfit("the same integers are read with two scales");
      }
      nodes.push_back(producer);
      return integers;
    }
    const bool keeps_grid = Among(node.operation, kMoves) || Among(node.operation, kMaxPools);
    if (!keeps_grid) return Unfit("the result of " + node.operation + " is not quantised");
    if (const auto known = implied_.find(value); known != implied_.end()) return known->second;
    ASSIGN_OR_RETURN(SumsFound sums, SumsOf(value));
    const Quantisation quantisation = found_.tensors.at(sums.layer.input).quantisation;
    const int integers = static_cast<int>(graph_.values.size() + implied_.size());
    RETURN_IF_ERROR(KeepTensor(integers, value, quantisation));
    ASSIGN_OR_RETURN(FoundLayer layer,
                     Finished(std::move(sums), integers, {quantisation.lowest(), quantisation.highest()}));
    implied_[value] = integers;
    layer.implied = true;
    found_.layers.push_back(std::move(layer));
    return integers;
  }

  struct Clamp {
    std::int32_t lowest, highest;
  };

  absl::StatusOr<FoundLayer> LayerEndingWith(std::size_t end) {
    const Node& node = graph_.nodes[end];
    const int output = node.outputs[0];
    ASSIGN_OR_RETURN(const Quantisation quantisation,
                     lookup_.QuantisationOf(node, specs_[Size(output)].type));
    RETURN_IF_ERROR(KeepTensor(output, output, quantisation));
    Clamp clamp{quantisation.lowest(), quantisation.highest()};
    std::vector<std::size_t> nodes = {end};
    int value = node.inputs[0];
    ASSIGN_OR_RETURN(value, BehindActivations(value, quantisation, clamp, nodes));
    ASSIGN_OR_RETURN(SumsFound sums, SumsOf(value));
    sums.nodes.insert(sums.nodes.end(), nodes.begin(), nodes.end());
    return Finished(std::move(sums), output, clamp);
  }

  // Narrows `clamp` by Relu and Clip; the value that goes into the first of them.
  absl::StatusOr<int> BehindActivations(int value, const Quantisation& output, Clamp& clamp,
                                        std::vector<std::size_t>& nodes) {
    for (;;) {
      const std::size_t producer = lookup_.ProducerOf(value);
      if (producer == kNoNode) return Unfit("its input comes from outside as float32");
      const Node& node = graph_.nodes[producer];
      if (node.operation != "Relu" && node.operation != "Clip") return value;
      at_ = producer;
      RETURN_IF_ERROR(lookup_.ExpectOnlyReader(value));
      double least = 0, most = std::numeric_limits<double>::infinity();
      if (node.operation == "Clip") {
        least = -most;
        for (const auto& [input, bound] : {std::pair(std::size_t{1}, &least), {std::size_t{2}, &most}}) {
          if (node.inputs.size() <= input || node.inputs[input] == kAbsent) continue;
          const Array* const constant = lookup_.ConstantAt(node.inputs[input]);
          if (constant == nullptr) return Unfit("a bound is not constant");
          *bound = constant->As<float>()[0];
          if (std::isnan(*bound)) return Unfit("a bound is not a number");
        }
      }
      // Rounding keeps the order, so that what is clipped can be clipped after it.
      const auto level = [&](double real) {
        const double rounded =
            std::nearbyint(static_cast<double>(static_cast<float>(real) / output.scale)) + output.zero_point;
        return static_cast<std::int32_t>(std::clamp<double>(rounded, output.lowest(), output.highest()));
      };
      clamp.lowest = std::max(clamp.lowest, level(least));
      clamp.highest = std::min(clamp.highest, level(most));
      // Clip with its bounds crossed gives the upper one.
      clamp.lowest = std::min(clamp.lowest, clamp.highest);
      nodes.push_back(producer);
      value = node.inputs[0];
    }
  }

  absl::StatusOr<SumsFound> SumsOf(int value) {
    if (depth_ == kMostNested) return Unfit("too many nodes stand between two quantised values");
    ++depth_;
    absl::StatusOr<SumsFound> sums = SumsOfNode(value);
    --depth_;
    return sums;
  }

  absl::StatusOr<SumsFound> SumsOfNode(int value) {
    const std::size_t producer = lookup_.ProducerOf(value);
    if (producer == kNoNode) return Unfit("its input comes from outside as float32");
    if (lookup_.IsConstant(value)) return Unfit("it is constant");
    const Node& node = graph_.nodes[producer];
    at_ = producer;
    SumsFound sums;
    sums.layer.name = node.name;
    sums.nodes.push_back(producer);
    if (node.operation == "Conv") {
      RETURN_IF_ERROR(ReadConvolution(node, sums));
    } else if (node.operation == "Gemm" || node.operation == "MatMul") {
      RETURN_IF_ERROR(ReadMatrix(node, sums));
    } else if (node.operation == "Add") {
      return SumsOfAdd(node, std::move(sums));
    } else if (Among(node.operation, kMaxPools) || Among(node.operation, kAveragePools)) {
      RETURN_IF_ERROR(ReadPool(node, sums));
    } else if (Among(node.operation, kMoves)) {
      RETURN_IF_ERROR(ReadMove(node, sums));
    } else if (node.operation == "DequantizeLinear") {
      sums.nodes.clear();
      RETURN_IF_ERROR(ReadOperand(value, sums));
    } else {
      return Unfit(node.operation + " is not computed in integers");
    }
    at_ = producer;
    return sums;
  }

  absl::Status ReadOperand(int value, SumsFound& sums) {
    ASSIGN_OR_RETURN(sums.layer.input, OperandOf(value, sums.nodes));
    sums.reals.units = {found_.tensors.at(sums.layer.input).quantisation.scale};
    return absl::OkStatus();
  }

  void SetUnits(const IntegerWeights& weights, SumsFound& sums) {
    const double input = sums.reals.units[0];
    sums.reals.units.clear();
    for (const double scale : weights.scales) sums.reals.units.push_back(input * scale);
  }

  absl::Status ReadBias(int value, std::size_t channels, double beta, SumsFound& sums) {
    const Array* const constant = lookup_.ConstantAt(value);
    if (constant == nullptr) return Unfit("the bias is not constant");
    const std::span<const float> values = constant->As<float>();
    if (values.size() != 1 && values.size() != channels) return Unfit("the bias is not one of channels");
    if (sums.reals.bias.empty()) sums.reals.bias.resize(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      sums.reals.bias[c] += beta * static_cast<double>(values[values.size() == 1 ? 0 : c]);
    }
    return absl::OkStatus();
  }

  absl::Status ReadConvolution(const Node& node, SumsFound& sums) {
    RETURN_IF_ERROR(ReadOperand(node.inputs[0], sums));
    ASSIGN_OR_RETURN(const IntegerWeights weights, lookup_.WeightsOf(node.inputs[1], 0));
    const Shape& shape = weights.integers->spec.shape;
    if (shape.size() > 4) return Unfit("the window has three dimensions");
    ASSIGN_OR_RETURN(sums.layer.window, WindowOf(lookup_.ContextFor(node), {shape.begin() + 2, shape.end()}));
    MakePlane(sums.layer.window);
    ASSIGN_OR_RETURN(sums.layer.groups, node.attributes.Integer("group", 1));
    sums.layer.kind = LayerKind::kConvolution;
    const std::span<const std::int8_t> values = weights.integers->As<std::int8_t>();
    sums.layer.weights.assign(values.begin(), values.end());
    sums.layer.bias.resize(Size(shape[0]));
    SetUnits(weights, sums);
    if (node.inputs.size() > 2 && node.inputs[2] != kAbsent) {
      RETURN_IF_ERROR(ReadBias(node.inputs[2], Size(shape[0]), 1, sums));
    }
    return absl::OkStatus();
  }

  // As a convolution of images of one pixel.
  absl::Status ReadMatrix(const Node& node, SumsFound& sums) {
    const bool gemm = node.operation == "Gemm";
    ASSIGN_OR_RETURN(const std::int64_t a_transposed, node.attributes.Integer("transA", 0));
    ASSIGN_OR_RETURN(const std::int64_t b_transposed, node.attributes.Integer("transB", 0));
    ASSIGN_OR_RETURN(const float alpha, node.attributes.Real("alpha", 1));
    ASSIGN_OR_RETURN(const float beta, node.attributes.Real("beta", 1));
    if (a_transposed != 0) return Unfit("A is transposed");
    if (!(alpha > 0)) return Unfit("alpha is not above 0");
    if (specs_[Size(node.inputs[0])].rank() != 2 || specs_[Size(node.inputs[1])].rank() != 2) {
      return Unfit("only products of two matrices are computed in integers");
    }
    RETURN_IF_ERROR(ReadOperand(node.inputs[0], sums));
    ASSIGN_OR_RETURN(const IntegerWeights weights,
                     lookup_.WeightsOf(node.inputs[1], b_transposed != 0 ? 0 : 1));
    const Shape& shape = weights.integers->spec.shape;
    const std::size_t inputs = Size(shape[b_transposed != 0 ? 1 : 0]),
                      outputs = Size(shape[b_transposed != 0 ? 0 : 1]);
    const std::span<const std::int8_t> values = weights.integers->As<std::int8_t>();
    sums.layer.kind = LayerKind::kConvolution;
    sums.layer.window = {.size = {1, 1},
                         .stride = {1, 1},
                         .dilation = {1, 1},
                         .before = {0, 0},
                         .after = {0, 0},
                         .input = {1, 1},
                         .output = {1, 1}};
    sums.layer.weights.resize(values.size());
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < inputs; ++i) {
        sums.layer.weights[o * inputs + i] = values[b_transposed != 0 ? o * inputs + i : i * outputs + o];
      }
    }
    sums.layer.bias.resize(outputs);
    SetUnits(weights, sums);
    for (double& unit : sums.reals.units) unit *= alpha;
    if (gemm && node.inputs.size() > 2 && node.inputs[2] != kAbsent) {
      const Shape& c = specs_[Size(node.inputs[2])].shape;
      if (c.size() == 2 && c[0] != 1) return Unfit("the bias is not one of channels");
      RETURN_IF_ERROR(ReadBias(node.inputs[2], outputs, beta, sums));
    }
    return absl::OkStatus();
  }

  // A window over one dimension as one over two.
  static void MakePlane(Window& window) {
    if (window.rank() != 1) return;
    for (auto* const numbers :
         {&window.size, &window.stride, &window.dilation, &window.input, &window.output}) {
      numbers->insert(numbers->begin(), 1);
    }
    for (auto* const numbers : {&window.before, &window.after}) numbers->insert(numbers->begin(), 0);
  }

  absl::Status ReadPool(const Node& node, SumsFound& sums) {
    RETURN_IF_ERROR(ReadOperand(node.inputs[0], sums));
    const QuantisedTensor& input = found_.tensors.at(sums.layer.input);
    Window& window = sums.layer.window;
    sums.layer.kind = Among(node.operation, kMaxPools) ? LayerKind::kMaxPool : LayerKind::kAveragePool;
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
        return Unfit("a window with gaps may see padding only");
      }
    }
    if (sums.layer.kind == LayerKind::kMaxPool) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::int64_t with_padding, node.attributes.Integer("count_include_pad", 0));
    for (std::size_t d = 0; d < 2; ++d) {
      const std::int64_t reach =
          (window.output[d] - 1) * window.stride[d] + (window.size[d] - 1) * window.dilation[d] + 1;
      const bool padded = window.before[d] + window.after[d] > 0;
      if ((padded && with_padding == 0) || reach > window.input[d] + window.before[d] + window.after[d]) {
        return Unfit("windows at the edge have another divisor");
      }
    }
    sums.reals.units[0] /= static_cast<double>(window.taps());
    return absl::OkStatus();
  }

  absl::Status ReadMove(const Node& node, SumsFound& sums) {
    RETURN_IF_ERROR(ReadOperand(node.inputs[0], sums));
    sums.layer.kind = LayerKind::kMove;
    if (node.operation != "Transpose") return absl::OkStatus();
    Integers reversed;
    for (std::int64_t d = specs_[Size(node.inputs[0])].rank(); d-- > 0;) reversed.push_back(d);
    ASSIGN_OR_RETURN(sums.layer.permutation, node.attributes.Integers("perm", reversed));
    return absl::OkStatus();
  }

  // Two operands; or an operand or a constant of channels, and what a layer sums.
  absl::StatusOr<SumsFound> SumsOfAdd(const Node& node, SumsFound sums) {
    const std::size_t add = at_;
    absl::Status refusal = Unfit("no operand is quantised");
    for (const int side : {0, 1}) {
      const int here = node.inputs[Size(side)], there = node.inputs[Size(1 - side)];
      if (lookup_.IsConstant(there)) return WithConstant(here, there, add);
      if (specs_[Size(here)].shape != specs_[Size(there)].shape)
        return Unfit("an operand is repeated to fit");
      std::vector<std::size_t> nodes;
      const absl::StatusOr<int> residual = OperandOf(there, nodes);
      at_ = add;
      if (!residual.ok()) {
        refusal = residual.status();
        continue;
      }
      sums.nodes.insert(sums.nodes.end(), nodes.begin(), nodes.end());
      if (const SumsFound other = sums; ReadOperand(here, sums).ok()) {
        at_ = add;
        sums.layer.residual = *residual;
        return sums;
      } else {
        sums = other;
      }
      RETURN_IF_ERROR(lookup_.ExpectOnlyReader(here));
      ASSIGN_OR_RETURN(SumsFound inner, SumsOf(here));
      at_ = add;
      if (inner.layer.residual != kAbsent) return Unfit("three operands are added");
      if (inner.layer.kind == LayerKind::kMaxPool || inner.layer.kind == LayerKind::kMove) {
        return Unfit("a result that is not quantised is added");
      }
      inner.layer.residual = *residual;
      inner.nodes.insert(inner.nodes.end(), sums.nodes.begin(), sums.nodes.end());
      return inner;
    }
    return refusal;
  }

  absl::StatusOr<SumsFound> WithConstant(int value, int constant, std::size_t add) {
    RETURN_IF_ERROR(lookup_.ExpectOnlyReader(value));
    ASSIGN_OR_RETURN(SumsFound sums, SumsOf(value));
    at_ = add;
    if (sums.layer.kind != LayerKind::kConvolution || sums.layer.residual != kAbsent) {
      return Unfit("a constant is added to what is no product");
    }
    // Broadcast from the right: the channels are the last dimension but the spatial ones.
    const Shape& shape = specs_[Size(constant)].shape;
    const std::size_t spatial = specs_[Size(value)].shape.size() - 2;
    const bool leading_ones = shape.size() <= spatial + 2 && (shape.size() < spatial + 2 || shape[0] == 1);
    const bool trailing_ones =
        shape.size() >= spatial &&
        std::all_of(shape.end() - static_cast<std::ptrdiff_t>(std::min(spatial, shape.size())), shape.end(),
                    [](std::int64_t side) { return side == 1; });
    if (!leading_ones || !(trailing_ones || specs_[Size(constant)].elements() == 1)) {
      return Unfit("the bias is not one of channels");
    }
    RETURN_IF_ERROR(ReadBias(constant, sums.layer.bias.size(), 1, sums));
    sums.nodes.push_back(add);
    return sums;
  }

  // Factors, biases and limits, when both sides are known.
  absl::StatusOr<FoundLayer> Finished(SumsFound sums, int output, Clamp clamp) {
    QuantisedLayer& layer = sums.layer;
    const QuantisedTensor& to = found_.tensors.at(output);
    const Quantisation& from = found_.tensors.at(layer.input).quantisation;
    layer.output = output;
    layer.lowest = clamp.lowest;
    layer.highest = clamp.highest;
    if (layer.kind == LayerKind::kMove) {
      if (to.quantisation != from || clamp.lowest != from.lowest() || clamp.highest != from.highest()) {
        return Unfit("elements are moved to another scale");
      }
      return FoundLayer{std::move(layer), std::move(sums.nodes)};
    }
    const double residual_unit =
        layer.residual == kAbsent ? 0 : found_.tensors.at(layer.residual).quantisation.scale;
    RETURN_IF_ERROR(SetFactors(sums.reals, from, to.quantisation, residual_unit, layer));
    return FoundLayer{std::move(layer), std::move(sums.nodes)};
  }

  const Graph& graph_;
  const std::deque<Spec>& specs_;
  const GraphLookup lookup_;
  std::size_t at_ = 0;          // the node that is looked at, which a refusal names
  std::map<int, int> implied_;  // of a float value, the tensor that OperandOf made for it
  int depth_ = 0;
  FoundLayers found_;
};

}  // namespace

FoundLayers FindQuantisedLayers(const Graph& graph, const std::deque<Spec>& specs) {
  return LayerFinder(graph, specs).Find();
}

}  // namespace tributary::graph
