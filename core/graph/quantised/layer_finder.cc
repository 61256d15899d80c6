#include "core/graph/quantised/layer_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <string_view>
#include <utility>

#include "core/graph/operation.h"
#include "core/graph/quantised/graph_lookup.h"
#include "core/graph/quantised/layer_factors.h"
#include "core/graph/quantised/layer_sums.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

constexpr std::size_t kNoNode = GraphLookup::kNoNode;
constexpr int kMostNested = 16;  // moves, pools and sums without a QuantizeLinear between them
constexpr std::string_view kMoves[] = {"Reshape",   "Flatten",  "Squeeze", "Unsqueeze",
                                       "Transpose", "Identity", "Dropout"};
constexpr std::string_view kMaxPools[] = {"MaxPool", "GlobalMaxPool"};
constexpr std::string_view kIntegerProducts[] = {"QLinearConv", "QLinearMatMul"};
constexpr std::string_view kAveragePools[] = {"AveragePool", "GlobalAveragePool"};

bool Among(std::string_view name, auto& names) { return std::ranges::find(names, name) != std::end(names); }

absl::Status Unfit(absl::string_view reason) { return absl::InvalidArgumentError(reason); }

class LayerFinder {
 public:
  LayerFinder(const Graph& graph, const std::deque<Spec>& specs)
      : graph_(graph), specs_(specs), lookup_(graph, specs), reader_(lookup_, specs) {
    found_.reasons.resize(graph.nodes.size());
  }

  FoundLayers Find() && {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!EndsLayer(graph_.nodes[n])) continue;
      at_ = n;
      absl::StatusOr<FoundLayer> layer = LayerAt(n);
      if (!layer.ok()) {
        found_.reasons[at_] = std::string(layer.status().message());
        continue;
      }
      found_.layers.push_back(*std::move(layer));
    }
    return std::move(found_);
  }

 private:
  // Whether the node gives integers that may be a layer's result.
  bool EndsLayer(const Node& node) const {
    if (lookup_.IsConstant(node.outputs[0])) return false;
    if (node.operation == "QuantizeLinear" || Among(node.operation, kIntegerProducts)) return true;
    const bool keeps_grid = Among(node.operation, kMoves) || node.operation == "MaxPool";
    return keeps_grid && node.outputs.size() == 1 && found_.tensors.contains(node.inputs[0]);
  }

  absl::StatusOr<FoundLayer> LayerAt(std::size_t node) {
    const std::string& operation = graph_.nodes[node].operation;
    if (operation == "QuantizeLinear") return LayerEndingWith(node);
    return Among(operation, kIntegerProducts) ? LayerOfProduct(node) : LayerOfIntegers(node);
  }

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

  absl::Status KeepOperand(int integers, const Quantisation& quantisation) {
    RETURN_IF_ERROR(KeepTensor(integers, integers, quantisation));
    if (found_.tensors.at(integers).quantisation == quantisation) return absl::OkStatus();
    return Unfit("the same integers are read with two scales");
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
      ASSIGN_OR_RETURN(const Quantisation quantisation, lookup_.QuantisationAt(node, 1, type));
      RETURN_IF_ERROR(KeepOperand(integers, quantisation));
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
    ASSIGN_OR_RETURN(FoundLayer layer, Finished(std::move(sums), integers, WholeRange(quantisation)));
    implied_[value] = integers;
    layer.implied = true;
    found_.layers.push_back(std::move(layer));
    return integers;
  }

  struct Clamp {
    std::int32_t lowest, highest;
  };
  static Clamp WholeRange(const Quantisation& grid) { return {grid.lowest(), grid.highest()}; }

  absl::StatusOr<FoundLayer> LayerEndingWith(std::size_t end) {
    const Node& node = graph_.nodes[end];
    const int output = node.outputs[0];
    ASSIGN_OR_RETURN(const Quantisation quantisation,
                     lookup_.QuantisationAt(node, 1, specs_[Size(output)].type));
    RETURN_IF_ERROR(KeepTensor(output, output, quantisation));
    Clamp clamp = WholeRange(quantisation);
    std::vector<std::size_t> nodes = {end};
    int value = node.inputs[0];
    ASSIGN_OR_RETURN(value, BehindActivations(value, quantisation, clamp, nodes));
    ASSIGN_OR_RETURN(SumsFound sums, SumsOf(value));
    sums.nodes.insert(sums.nodes.end(), nodes.begin(), nodes.end());
    return Finished(std::move(sums), output, clamp);
  }

  // A product whose operand and result are integers.
  absl::StatusOr<FoundLayer> LayerOfProduct(std::size_t at) {
    constexpr std::size_t kInputScale = 1, kOutputScale = 6;
    const Node& node = graph_.nodes[at];
    const int input = node.inputs[0], output = node.outputs[0];
    ASSIGN_OR_RETURN(const Quantisation from,
                     lookup_.QuantisationAt(node, kInputScale, specs_[Size(input)].type));
    ASSIGN_OR_RETURN(const Quantisation to,
                     lookup_.QuantisationAt(node, kOutputScale, specs_[Size(output)].type));
    RETURN_IF_ERROR(KeepTensor(output, output, to));
    RETURN_IF_ERROR(KeepOperand(input, from));
    if (lookup_.IsConstant(input)) return Unfit("its input is constant");
    SumsFound sums = SumsAt(at);
    sums.layer.input = input;
    const QuantisedTensor& tensor = found_.tensors.at(input);
    RETURN_IF_ERROR(node.operation == "QLinearConv" ? reader_.ReadIntegerConvolution(node, tensor, sums)
                                                    : reader_.ReadIntegerMatrix(node, tensor, sums));
    return Finished(std::move(sums), output, WholeRange(to));
  }

  // A move or a pool of largest values between integers keeps the grid of its operand.
  absl::StatusOr<FoundLayer> LayerOfIntegers(std::size_t at) {
    const Node& node = graph_.nodes[at];
    const int input = node.inputs[0], output = node.outputs[0];
    const Quantisation grid = found_.tensors.at(input).quantisation;
    RETURN_IF_ERROR(KeepTensor(output, output, grid));
    SumsFound sums = SumsAt(at);
    sums.layer.input = input;
    RETURN_IF_ERROR(ReadWithoutWeights(node, sums));
    return Finished(std::move(sums), output, WholeRange(grid));
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

  // Names the node; its sums are read next.
  SumsFound SumsAt(std::size_t node) const {
    SumsFound sums;
    sums.layer.name = graph_.nodes[node].name;
    sums.nodes.push_back(node);
    return sums;
  }

  // A pool or a move of the layer's input.
  absl::Status ReadWithoutWeights(const Node& node, SumsFound& sums) const {
    if (Among(node.operation, kMoves)) return reader_.ReadMove(node, sums);
    return reader_.ReadPool(node, found_.tensors.at(sums.layer.input), sums);
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
    SumsFound sums = SumsAt(producer);
    if (node.operation == "Add") return SumsOfAdd(node, std::move(sums));
    const bool convolution = node.operation == "Conv";
    if (convolution || node.operation == "Gemm" || node.operation == "MatMul") {
      RETURN_IF_ERROR(ReadOperand(node.inputs[0], sums));
      at_ = producer;
      const QuantisedTensor& input = found_.tensors.at(sums.layer.input);
      sums.reals.units.clear();
      RETURN_IF_ERROR(convolution ? reader_.ReadConvolution(node, input, sums)
                                  : reader_.ReadMatrix(node, input, sums));
    } else if (Among(node.operation, kMaxPools) || Among(node.operation, kAveragePools) ||
               Among(node.operation, kMoves)) {
      RETURN_IF_ERROR(ReadOperand(node.inputs[0], sums));
      at_ = producer;
      RETURN_IF_ERROR(ReadWithoutWeights(node, sums));
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
    RETURN_IF_ERROR(reader_.ReadBias(constant, sums.layer.bias.size(), 1, sums));
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
  const SumsReader reader_;
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
