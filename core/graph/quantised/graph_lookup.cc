#include "core/graph/quantised/graph_lookup.h"

#include <algorithm>
#include <span>

#include "core/status/macros.h"

namespace tributary::graph {
namespace {

absl::Status Unusable(absl::string_view reason) { return absl::InvalidArgumentError(reason); }

}  // namespace

GraphLookup::GraphLookup(const Graph& graph, const std::deque<Spec>& specs)
    : graph_(graph),
      specs_(specs),
      producers_(graph.values.size(), kNoNode),
      readers_(graph.values.size()),
      is_output_(graph.values.size()) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const int value : graph.nodes[n].outputs) producers_[Size(value)] = n;
    for (const int value : graph.nodes[n].inputs) {
      if (value != kAbsent) ++readers_[Size(value)];
    }
  }
  for (const int value : graph.outputs) is_output_[Size(value)] = true;
}

const Array* GraphLookup::ConstantAt(int value) const {
  const std::vector<Array>& constant = graph_.values[Size(value)].constant;
  return constant.empty() ? nullptr : &constant[0];
}

absl::Status GraphLookup::ExpectOnlyReader(int value) const {
  if (readers_[Size(value)] == 1 && !is_output_[Size(value)]) return absl::OkStatus();
  return Unusable("a float value inside of the layer is read elsewhere, too");
}

NodeContext GraphLookup::ContextFor(const Node& node) const {
  NodeContext context{.node = &node, .inputs = {}, .constants = {}};
  for (const int value : node.inputs) {
    context.inputs.push_back(value == kAbsent ? nullptr : &specs_[Size(value)]);
    context.constants.push_back(value == kAbsent ? nullptr : ConstantAt(value));
  }
  return context;
}

const Array* GraphLookup::ZeroPointsOf(const Node& node) const {
  return node.inputs.size() > 2 && node.inputs[2] != kAbsent ? ConstantAt(node.inputs[2]) : nullptr;
}

absl::StatusOr<Quantisation> GraphLookup::QuantisationOf(const Node& node, ElementType type) const {
  const Array* const scale = ConstantAt(node.inputs[1]);
  const Array* const zero = ZeroPointsOf(node);
  if (scale == nullptr || (zero == nullptr && node.inputs.size() > 2)) {
    return Unusable("a scale or zero point is not constant");
  }
  if (scale->spec.elements() != 1) return Unusable("values between layers have a scale for each channel");
  Quantisation quantisation{.type = type, .scale = scale->As<float>()[0], .zero_point = 0};
  if (zero != nullptr) {
    quantisation.zero_point =
        type == ElementType::kInt8 ? zero->As<std::int8_t>()[0] : zero->As<std::uint8_t>()[0];
  }
  return quantisation;
}

absl::StatusOr<IntegerWeights> GraphLookup::WeightsOf(int value, std::int64_t axis) const {
  const std::size_t producer = ProducerOf(value);
  if (!IsConstant(value)) return Unusable("the weights are not constant");
  if (producer == kNoNode || graph_.nodes[producer].operation != "DequantizeLinear") {
    return Unusable("the weights are not quantised");
  }
  const Node& node = graph_.nodes[producer];
  IntegerWeights weights{ConstantAt(node.inputs[0]), {}};
  if (weights.integers == nullptr || weights.integers->spec.type != ElementType::kInt8) {
    return Unusable("the weights are not int8");
  }
  const Array* const scales = ConstantAt(node.inputs[1]);
  const Array* const zeros = ZeroPointsOf(node);
  if (zeros != nullptr && std::ranges::any_of(zeros->As<std::int8_t>(), [](int zero) { return zero != 0; })) {
    return Unusable("the weights have zero points other than 0");
  }
  for (const float scale : scales->As<float>()) weights.scales.push_back(scale);
  ASSIGN_OR_RETURN(const std::int64_t given, node.attributes.Integer("axis", 1));
  const std::int64_t rank = weights.integers->spec.rank();
  if (weights.scales.size() > 1 && (given < 0 ? given + rank : given) != axis) {
    return Unusable("the weights have scales along an axis other than the channels out");
  }
  return weights;
}

}  // namespace tributary::graph
