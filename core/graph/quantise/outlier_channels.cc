#include "core/graph/quantise/outlier_channels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/operation.h"

namespace tributary::graph {
namespace {

// A convolution's weights [outputs × inputs × taps].
struct DenseWeights {
  std::size_t outputs = 0, inputs = 0, taps = 0;
  std::vector<float> values = {};
  std::vector<float> bias = {};  // empty: none

  float* At(std::size_t output, std::size_t input) {
    return values.data() + (output * inputs + input) * taps;
  }
  float Largest(std::size_t output, std::size_t input) const {
    const float* const first = values.data() + (output * inputs + input) * taps;
    float largest = 0;
    for (std::size_t t = 0; t < taps; ++t) largest = std::max(largest, std::abs(first[t]));
    return largest;
  }
};

// Whether the node is a convolution of one group whose parameters are constant floats.
bool IsDense(const ModelEdit& edit, const onnx::NodeProto& node) {
  if (node.op_type() != "Conv" || ModelEdit::Integer(node, "group", 1) != 1) return false;
  for (int i = 1; i < node.input_size(); ++i) {
    if (i == 2 && node.input(i).empty()) continue;
    const Array* const constant = edit.ConstantOf(node.input(i));
    if (constant == nullptr || constant->spec.type != ElementType::kFloat32 ||
        constant->spec.elements() == 0) {
      return false;
    }
  }
  return true;
}

DenseWeights WeightsOf(const ModelEdit& edit, const onnx::NodeProto& node) {
  const Array& constant = *edit.ConstantOf(node.input(1));
  const Shape& shape = constant.spec.shape;
  DenseWeights weights{.outputs = Size(shape[0]), .inputs = Size(shape[1])};
  const auto values = constant.As<float>();
  weights.values.assign(values.begin(), values.end());
  weights.taps = weights.values.size() / (weights.outputs * weights.inputs);
  if (node.input_size() > 2 && !node.input(2).empty()) {
    const auto bias = edit.ConstantOf(node.input(2))->As<float>();
    weights.bias.assign(bias.begin(), bias.end());
  }
  return weights;
}

// The convolution whose result the node reads, if nobody else does; else kNoNode.
int SourceOf(const ModelEdit& edit, const onnx::NodeProto& reader) {
  std::string value = reader.input(0);
  for (;;) {
    const int place = edit.ProducerOf(value);
    if (place == ModelEdit::kNoNode || !edit.HasOneReader(value)) return ModelEdit::kNoNode;
    const onnx::NodeProto& node = edit.node(place);
    if (IsDense(edit, node)) return place;
    if (node.op_type() != "Relu" && node.op_type() != "Clip") return ModelEdit::kNoNode;
    value = node.input(0);
  }
}

// The channel that has the largest weights of the most outputs, by their squares; `inputs` if all weights are
// zero. Halves of one channel are equal, so that both count.
std::size_t ChannelToSplit(const DenseWeights& weights) {
  std::vector<double> squares(weights.inputs);
  std::vector<float> largest(weights.inputs);
  for (std::size_t o = 0; o < weights.outputs; ++o) {
    for (std::size_t i = 0; i < weights.inputs; ++i) largest[i] = weights.Largest(o, i);
    const float most = std::ranges::max(largest);
    for (std::size_t i = 0; i < weights.inputs; ++i) {
      if (largest[i] == most) squares[i] += static_cast<double>(most) * most;
    }
  }
  const auto best = std::ranges::max_element(squares);
  return *best > 0 ? static_cast<std::size_t>(best - squares.begin()) : weights.inputs;
}

// Halves the channel, and adds its other half behind the last.
void Halve(std::size_t channel, DenseWeights& weights) {
  DenseWeights split{weights.outputs, weights.inputs + 1, weights.taps, {}, weights.bias};
  split.values.resize(split.outputs * split.inputs * split.taps);
  for (std::size_t o = 0; o < weights.outputs; ++o) {
    float* const old = weights.At(o, channel);
    for (std::size_t t = 0; t < weights.taps; ++t) old[t] /= 2;
    std::copy_n(weights.At(o, 0), weights.inputs * weights.taps, split.At(o, 0));
    std::copy_n(old, weights.taps, split.At(o, weights.inputs));
  }
  weights = std::move(split);
}

// Makes channels out once more, in their order.
void Repeat(const std::vector<std::size_t>& channels, DenseWeights& weights) {
  const std::size_t each = weights.inputs * weights.taps;
  for (const std::size_t channel : channels) {
    const std::vector<float> row(weights.At(channel, 0), weights.At(channel, 0) + each);
    weights.values.insert(weights.values.end(), row.begin(), row.end());
    ++weights.outputs;
    if (!weights.bias.empty()) weights.bias.push_back(weights.bias[channel]);
  }
}

void Write(int node, const DenseWeights& weights, ModelEdit& edit) {
  Shape shape = edit.ConstantOf(edit.node(node).input(1))->spec.shape;
  shape[0] = static_cast<std::int64_t>(weights.outputs);
  shape[1] = static_cast<std::int64_t>(weights.inputs);
  const std::string name = edit.Fresh(edit.node(node).input(1) + "_split");
  edit.AddTensor(name, shape, std::span<const float>(weights.values));
  edit.graph().mutable_node(node)->set_input(1, name);
  if (weights.bias.empty()) return;
  const std::string bias = edit.Fresh(name + "_bias");
  edit.AddTensor(bias, {shape[0]}, std::span<const float>(weights.bias));
  edit.graph().mutable_node(node)->set_input(2, bias);
}

}  // namespace

int SplitOutlierChannels(ModelEdit& edit, double share) {
  int split = 0;
  std::map<int, DenseWeights> changed;  // by node
  const auto weights_of = [&](int node) {
    const auto known = changed.find(node);
    return known == changed.end() ? WeightsOf(edit, edit.node(node)) : known->second;
  };
  for (int n = 0; n < edit.nodes(); ++n) {
    if (!IsDense(edit, edit.node(n))) continue;
    const int source = SourceOf(edit, edit.node(n));
    if (source == ModelEdit::kNoNode) continue;
    DenseWeights weights = weights_of(n);
    const auto most = static_cast<std::size_t>(std::ceil(share * static_cast<double>(weights.inputs)));
    std::vector<std::size_t> channels;
    while (channels.size() < most) {
      const std::size_t channel = ChannelToSplit(weights);
      if (channel == weights.inputs) break;
      Halve(channel, weights);
      channels.push_back(channel);
    }
    if (channels.empty()) continue;
    DenseWeights repeated = weights_of(source);
    Repeat(channels, repeated);
    changed[n] = std::move(weights);
    changed[source] = std::move(repeated);
    split += static_cast<int>(channels.size());
  }
  for (const auto& [node, weights] : changed) Write(node, weights, edit);
  if (split > 0) edit.graph().clear_value_info();  // shapes between nodes are others now
  edit.DropUnread();
  return split;
}

}  // namespace tributary::graph
