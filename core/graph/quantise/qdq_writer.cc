#include "core/graph/quantise/qdq_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "core/graph/operation.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

onnx::NodeProto NodeOf(const std::string& operation, const std::vector<std::string>& inputs,
                       const std::string& output) {
  onnx::NodeProto node;
  node.set_op_type(operation);
  node.set_name(output);
  node.mutable_input()->Add(inputs.begin(), inputs.end());
  node.add_output(output);
  return node;
}

class QdqWriter {
 public:
  QdqWriter(const std::map<std::string, Quantisation>& grids, ModelEdit& edit)
      : grids_(grids), edit_(edit), before_(Size(edit.nodes())), after_(Size(edit.nodes())) {}

  absl::StatusOr<std::map<std::string, std::string>> Write(const std::vector<Cluster>& clusters) && {
    std::set<std::string> ends;
    for (const Cluster& cluster : clusters) {
      if (cluster.has_weights) RETURN_IF_ERROR(WriteWeights(cluster));
      ends.insert(cluster.end);
      WriteEnd(cluster.end);
    }
    for (const Cluster& cluster : clusters) {
      for (const std::string& operand : cluster.operands) {
        if (!ends.contains(operand)) Redirect(cluster.node, operand);
      }
    }
    Assemble();
    edit_.DropUnread();
    return std::move(dequantised_);
  }

 private:
  // Constants of a grid, once for each.
  std::pair<std::string, std::string> ParametersOf(const std::string& value) {
    const Quantisation& grid = grids_.at(value);
    const std::string scale = edit_.Fresh(value + "_scale"), zero = edit_.Fresh(value + "_zero_point");
    edit_.AddTensor(scale, {}, std::span(&grid.scale, 1));
    if (grid.type == ElementType::kInt8) {
      const auto point = static_cast<std::int8_t>(grid.zero_point);
      edit_.AddTensor(zero, {}, std::span(&point, 1));
    } else {
      const auto point = static_cast<std::uint8_t>(grid.zero_point);
      edit_.AddTensor(zero, {}, std::span(&point, 1));
    }
    return {scale, zero};
  }

  void WriteEnd(const std::string& end) {
    const int producer = edit_.ProducerOf(end);
    const std::string floats = edit_.Fresh(end + "_float"), integers = edit_.Fresh(end + "_quantised");
    edit_.graph().mutable_node(producer)->set_output(0, floats);
    const auto [scale, zero] = ParametersOf(end);
    after_[Size(producer)].push_back(NodeOf("QuantizeLinear", {floats, scale, zero}, integers));
    after_[Size(producer)].push_back(NodeOf("DequantizeLinear", {integers, scale, zero}, end));
  }

  // An operand that no cluster gives: an input of the graph, or the result of a float node.
  void Redirect(int node, const std::string& operand) {
    const auto [entry, added] = dequantised_.try_emplace(operand, "");
    if (added) {
      entry->second = edit_.Fresh(operand + "_dequantised");
      const std::string integers = edit_.Fresh(operand + "_quantised");
      const auto [scale, zero] = ParametersOf(operand);
      const int producer = edit_.ProducerOf(operand);
      auto& place = producer == ModelEdit::kNoNode ? front_ : after_[Size(producer)];
      place.push_back(NodeOf("QuantizeLinear", {operand, scale, zero}, integers));
      place.push_back(NodeOf("DequantizeLinear", {integers, scale, zero}, entry->second));
    }
    for (std::string& input : *edit_.graph().mutable_node(node)->mutable_input()) {
      if (input == operand) input = entry->second;
    }
  }

  absl::Status WriteWeights(const Cluster& cluster) {
    onnx::NodeProto& node = *edit_.graph().mutable_node(cluster.node);
    const Array& weights = *edit_.ConstantOf(node.input(1));
    const Shape& shape = weights.spec.shape;
    const std::int64_t axis = ChannelAxis(node);
    const std::size_t channels = Size(shape[Size(axis)]);
    const std::span<const float> values = weights.As<float>();
    const auto finite = [](float value) { return std::isfinite(value); };
    if (!std::ranges::all_of(values, finite)) {
      return absl::InvalidArgumentError(
          fmt::format("node \"{}\": a weight is not finite", node.name().substr(0, 80)));
    }
    std::size_t inner = 1;
    for (std::size_t d = Size(axis) + 1; d < shape.size(); ++d) inner *= Size(shape[d]);
    const auto channel_of = [&](std::size_t i) { return i / inner % channels; };
    std::vector<float> scales(channels);
    for (std::size_t i = 0; i < values.size(); ++i) {
      scales[channel_of(i)] = std::max(scales[channel_of(i)], std::abs(values[i]) / 127.0f);
    }
    const std::vector<float> bias = BiasOf(node, channels);
    const float input_scale = grids_.at(cluster.operands[0]).scale;
    for (std::size_t c = 0; c < channels; ++c) {
      // A channel of small weights and a large bias takes a larger scale: the bias must fit its integers.
      constexpr float kMostBias = 1 << 26;
      if (!bias.empty()) scales[c] = std::max(scales[c], std::abs(bias[c]) / (input_scale * kMostBias));
      if (!(scales[c] > 1e-30f)) scales[c] = 1.0f / 127;
      if (!std::isfinite(scales[c]) || (!bias.empty() && !finite(bias[c]))) {
        return absl::InvalidArgumentError(
            fmt::format("node \"{}\": its bias is too large, or not finite", node.name().substr(0, 80)));
      }
    }
    std::vector<std::int8_t> integers(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      integers[i] = static_cast<std::int8_t>(
          std::clamp(std::nearbyint(values[i] / scales[channel_of(i)]), -127.0f, 127.0f));
    }
    const std::string stem = node.input(1);
    node.set_input(1,
                   Constant(cluster.node, stem, shape, std::span<const std::int8_t>(integers), scales, axis));
    if (!bias.empty()) WriteBias(cluster.node, bias, input_scale, scales);
    return absl::OkStatus();
  }

  // Empty: none that can be quantised; it stays as it is then.
  std::vector<float> BiasOf(const onnx::NodeProto& node, std::size_t channels) const {
    if (node.op_type() == "MatMul" || node.input_size() < 3 || node.input(2).empty()) return {};
    const Array* const constant = edit_.ConstantOf(node.input(2));
    if (constant == nullptr || constant->spec.shape != Shape{static_cast<std::int64_t>(channels)}) return {};
    if (node.op_type() == "Gemm" &&
        (ModelEdit::Real(node, "alpha", 1) != 1 || ModelEdit::Real(node, "beta", 1) != 1)) {
      return {};
    }
    const std::span<const float> values = constant->As<float>();
    return {values.begin(), values.end()};
  }

  void WriteBias(int place, const std::vector<float>& bias, float input_scale,
                 const std::vector<float>& weight_scales) {
    onnx::NodeProto& node = *edit_.graph().mutable_node(place);
    std::vector<float> scales;
    std::vector<std::int32_t> integers;
    for (std::size_t c = 0; c < bias.size(); ++c) {
      scales.push_back(std::max(input_scale * weight_scales[c], std::numeric_limits<float>::min()));
      integers.push_back(
          static_cast<std::int32_t>(std::clamp(std::nearbyint(bias[c] / scales[c]), -0x1p27f, 0x1p27f)));
    }
    const std::string stem = node.input(2);
    node.set_input(2, Constant(place, stem, {static_cast<std::int64_t>(bias.size())},
                               std::span<const std::int32_t>(integers), scales, 0));
  }

  // The dequantised value of a constant.
  template <class T>
  std::string Constant(int reader, const std::string& stem, const Shape& shape, std::span<const T> integers,
                       const std::vector<float>& scales, std::int64_t axis) {
    const std::string name = edit_.Fresh(stem + "_quantised"), scale = edit_.Fresh(stem + "_scale"),
                      zero = edit_.Fresh(stem + "_zero_point"), floats = edit_.Fresh(stem + "_dequantised");
    const Shape each = {static_cast<std::int64_t>(scales.size())};
    edit_.AddTensor(name, shape, integers);
    edit_.AddTensor(scale, each, std::span<const float>(scales));
    edit_.AddTensor(zero, each, std::span<const T>(std::vector<T>(scales.size())));
    onnx::NodeProto node = NodeOf("DequantizeLinear", {name, scale, zero}, floats);
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("axis");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(axis);
    before_[Size(reader)].push_back(std::move(node));
    return floats;
  }

  void Assemble() {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> all;
    const auto add = [&all](std::vector<onnx::NodeProto>& nodes) {
      for (onnx::NodeProto& node : nodes) *all.Add() = std::move(node);
    };
    add(front_);
    for (int n = 0; n < edit_.nodes(); ++n) {
      add(before_[Size(n)]);
      *all.Add() = edit_.node(n);
      add(after_[Size(n)]);
    }
    edit_.graph().mutable_node()->Swap(&all);
  }

  const std::map<std::string, Quantisation>& grids_;
  ModelEdit& edit_;
  std::vector<onnx::NodeProto> front_;
  std::vector<std::vector<onnx::NodeProto>> before_, after_;
  std::map<std::string, std::string> dequantised_;
};

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> WriteQdq(const std::vector<Cluster>& clusters,
                                                            const std::map<std::string, Quantisation>& grids,
                                                            ModelEdit& edit) {
  return QdqWriter(grids, edit).Write(clusters);
}

}  // namespace tributary::graph
