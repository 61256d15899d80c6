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

absl::StatusOr<Quantisation> GraphLookup::QuantisationAt(const Node& node, std::size_t scale,
                                                         ElementType type) const {
  const std::size_t zero = scale + 1;
  const Array* const scales = ConstantAt(node.inputs[scale]);
  const Array* const zeros = Has(node, zero) ? ConstantAt(node.inputs[zero]) : nullptr;
  if (scales == nullptr || (zeros == nullptr && Has(node, zero))) {
    return Unusable("a scale or zero point is not constant");
  }
  if (scales->spec.elements() != 1) return Unusable("values between layers have a scale for each channel");
  Quantisation quantisation{.type = type, .scale = scales->As<float>()[0], .zero_point = 0};
  if (zeros == nullptr) return quantisation;
  if (zeros->spec.elements() != 1)
    return Unusable("values between layers have a zero point for each channel");
  quantisation.zero_point =
      type == ElementType::kInt8 ? zeros->As<std::int8_t>()[0] : zeros->As<std::uint8_t>()[0];
  return quantisation;
}

absl::StatusOr<IntegerWeights> GraphLookup::WeightsOf(int value, std::int64_t axis) const {
  const std::size_t producer = ProducerOf(value);
  if (!IsConstant(value)) return Unusable("the weights are not constant");
  if (producer == kNoNode || graph_.nodes[producer].operation != "DequantizeLinear") {
    return Unusable("the weights are not quantised");
  }
  const Node& node = graph_.nodes[producer];
  ASSIGN_OR_RETURN(IntegerWeights weights, WeightsAt(node, 0, axis));
  ASSIGN_OR_RETURN(const std::int64_t given, node.attributes.Integer("axis", 1));
  const auto rank = static_cast<std::int64_t>(weights.shape.size());
  if (weights.scales.size() > 1 && (given < 0 ? given + rank : given) != axis) {
    return Unusable("the weights have scales along an axis other than the channels out");
  }
  return weights;
}

absl::StatusOr<IntegerWeights> GraphLookup::WeightsAt(const Node& node, std::size_t first,
                                                      std::int64_t axis) const {
  const Array* const integers = ConstantAt(node.inputs[first]);
  const Array* const scales = ConstantAt(node.inputs[first + 1]);
  const bool has_zeros = Has(node, first + 2);
  const Array* const zeros = has_zeros ? ConstantAt(node.inputs[first + 2]) : nullptr;
  if (integers == nullptr) return Unusable("the weights are not constant");
  if (scales == nullptr || (has_zeros && zeros == nullptr)) {
    return Unusable("a scale or zero point of the weights is not constant");
  }
  if (SizeOf(integers->spec.type) != 1) return Unusable("the weights are not int8 or uint8");
  IntegerWeights weights{integers->spec.shape, {}, {}};
  for (const float scale : scales->As<float>()) weights.scales.push_back(scale);
  std::size_t inner = 1;
  for (std::size_t d = Size(axis) + 1; d < weights.shape.size(); ++d) inner *= Size(weights.shape[d]);
  const std::size_t channels = zeros == nullptr ? 1 : Size(zeros->spec.elements());
  bool fit = true;
  WithType(integers->spec.type, [&](auto kind) {
    using T = decltype(kind);
    const std::span<const T> values = integers->As<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T zero = zeros == nullptr ? T{} : zeros->As<T>()[i / inner % channels];
      const std::int64_t weight = static_cast<std::int64_t>(values[i]) - static_cast<std::int64_t>(zero);
      fit = fit && weight >= -128 && weight <= 127;
      weights.values.push_back(static_cast<std::int8_t>(weight));
    }
  });
  if (!fit) return Unusable("the weights less their zero points are not all from -128 to 127");
  return weights;
}

}  // namespace tributary::graph
