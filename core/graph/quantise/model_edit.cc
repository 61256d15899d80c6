#include "core/graph/quantise/model_edit.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/graph/operation.h"
#include "core/status/macros.h"

namespace tributary::graph {

absl::StatusOr<ModelEdit> ModelEdit::Open(std::string_view file, const ReaderOptions& options) {
  ModelEdit edit;
  ASSIGN_OR_RETURN(edit.read_, ReadOnnx(file, options));  // which found it to be a model
  edit.model_.ParseFromArray(file.data(), static_cast<int>(file.size()));
  for (std::size_t v = 0; v < edit.read_.values.size(); ++v) {
    edit.places_[edit.read_.values[v].name] = static_cast<int>(v);
    edit.taken_[edit.read_.values[v].name] = true;
  }
  for (int n = 0; n < edit.nodes(); ++n) {
    for (const std::string& output : edit.node(n).output()) edit.producers_[output] = n;
    for (const std::string& input : edit.node(n).input()) edit.readers_[input].push_back(n);
  }
  for (const onnx::ValueInfoProto& output : edit.model_.graph().output()) edit.outputs_[output.name()] = true;
  return edit;
}

const Array* ModelEdit::ConstantOf(const std::string& value) const {
  const auto place = places_.find(value);
  if (place == places_.end()) return nullptr;
  const std::vector<Array>& constant = read_.values[Size(place->second)].constant;
  return constant.empty() ? nullptr : &constant[0];
}

int ModelEdit::ProducerOf(const std::string& value) const {
  const auto producer = producers_.find(value);
  if (producer == producers_.end() || node(producer->second).op_type() == "Constant") return kNoNode;
  return producer->second;
}

const std::vector<int>& ModelEdit::ReadersOf(const std::string& value) const {
  static const std::vector<int>& none = *new std::vector<int>();
  const auto readers = readers_.find(value);
  return readers == readers_.end() ? none : readers->second;
}

std::int64_t ModelEdit::Integer(const onnx::NodeProto& node, std::string_view name, std::int64_t otherwise) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return attribute.i();
  }
  return otherwise;
}

float ModelEdit::Real(const onnx::NodeProto& node, std::string_view name, float otherwise) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return attribute.f();
  }
  return otherwise;
}

std::string ModelEdit::Fresh(const std::string& stem) {
  std::string name = stem;
  for (int more = 2; !taken_.emplace(name, true).second; ++more) name = stem + "_" + std::to_string(more);
  return name;
}

onnx::TensorProto& ModelEdit::NewTensor(const std::string& name, const Shape& shape, int type) {
  onnx::TensorProto& tensor = *graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(shape.begin(), shape.end());
  return tensor;
}

void ModelEdit::AddTensor(const std::string& name, const Shape& shape, std::span<const float> values) {
  NewTensor(name, shape, onnx::TensorProto::FLOAT)
      .set_raw_data(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}
void ModelEdit::AddTensor(const std::string& name, const Shape& shape, std::span<const std::int8_t> values) {
  NewTensor(name, shape, onnx::TensorProto::INT8)
      .set_raw_data(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}
void ModelEdit::AddTensor(const std::string& name, const Shape& shape, std::span<const std::uint8_t> values) {
  NewTensor(name, shape, onnx::TensorProto::UINT8)
      .set_raw_data(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}
void ModelEdit::AddTensor(const std::string& name, const Shape& shape, std::span<const std::int32_t> values) {
  NewTensor(name, shape, onnx::TensorProto::INT32)
      .set_raw_data(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

void ModelEdit::DropUnread() {
  std::set<std::string> read;
  for (const onnx::ValueInfoProto& output : graph().output()) read.insert(output.name());
  // Nodes in any order: those that are read, and what they read, until nothing is added.
  std::map<std::string, int> producers;
  for (int n = 0; n < nodes(); ++n) {
    for (const std::string& output : node(n).output()) producers[output] = n;
  }
  std::vector<bool> kept(Size(nodes()));
  std::vector<std::string> open(read.begin(), read.end());
  while (!open.empty()) {
    const auto producer = producers.find(open.back());
    open.pop_back();
    if (producer == producers.end() || kept[Size(producer->second)]) continue;
    kept[Size(producer->second)] = true;
    for (const std::string& input : node(producer->second).input()) {
      if (read.insert(input).second) open.push_back(input);
    }
  }
  auto& all = *graph().mutable_node();
  int next = 0;
  for (int n = 0; n < all.size(); ++n) {
    if (kept[Size(n)]) all.SwapElements(next++, n);
  }
  all.DeleteSubrange(next, all.size() - next);
  auto& tensors = *graph().mutable_initializer();
  next = 0;
  for (int t = 0; t < tensors.size(); ++t) {
    if (read.contains(tensors.Get(t).name())) tensors.SwapElements(next++, t);
  }
  tensors.DeleteSubrange(next, tensors.size() - next);
}

namespace {

// For each channel y = x · slope + offset.
struct ChannelLine {
  std::vector<float> slopes, offsets;
};

// Empty slopes: a parameter is not constant.
ChannelLine LineOf(const ModelEdit& edit, const onnx::NodeProto& norm) {
  const Array* parameters[4];
  for (int i = 0; i < 4; ++i) {
    parameters[i] = edit.ConstantOf(norm.input(i + 1));
    if (parameters[i] == nullptr || parameters[i]->spec.type != ElementType::kFloat32) return {};
  }
  const float epsilon = ModelEdit::Real(norm, "epsilon", 1e-5f);
  const auto gamma = parameters[0]->As<float>(), beta = parameters[1]->As<float>(),
             mean = parameters[2]->As<float>(), variance = parameters[3]->As<float>();
  ChannelLine line;
  for (std::size_t c = 0; c < gamma.size(); ++c) {
    line.slopes.push_back(gamma[c] / std::sqrt(variance[c] + epsilon));
    line.offsets.push_back(beta[c] - mean[c] * line.slopes.back());
  }
  return line;
}

bool FoldBatchNorm(ModelEdit& edit, onnx::NodeProto& norm) {
  const int place = edit.ProducerOf(norm.input(0));
  if (place == ModelEdit::kNoNode || !edit.HasOneReader(norm.input(0)) || norm.output_size() != 1)
    return false;
  onnx::NodeProto& convolution = *edit.graph().mutable_node(place);
  if (convolution.op_type() != "Conv") return false;
  const Array* const weights = edit.ConstantOf(convolution.input(1));
  const bool has_bias = convolution.input_size() > 2 && !convolution.input(2).empty();
  const Array* const bias = has_bias ? edit.ConstantOf(convolution.input(2)) : nullptr;
  const ChannelLine line = LineOf(edit, norm);
  if (weights == nullptr || (has_bias && bias == nullptr) || line.slopes.empty()) return false;
  const std::size_t channels = line.slopes.size();
  if (weights->spec.type != ElementType::kFloat32 || Size(weights->spec.shape[0]) != channels) return false;
  std::vector<float> scaled(weights->As<float>().begin(), weights->As<float>().end()), moved(channels);
  const std::size_t each = scaled.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < each; ++i) scaled[c * each + i] *= line.slopes[c];
    moved[c] = line.offsets[c] + (bias == nullptr ? 0.0f : bias->As<float>()[c]) * line.slopes[c];
  }
  const std::string weight_name = edit.Fresh(convolution.input(1) + "_folded"),
                    bias_name = edit.Fresh(weight_name + "_bias");
  edit.AddTensor(weight_name, weights->spec.shape, scaled);
  edit.AddTensor(bias_name, {static_cast<std::int64_t>(channels)}, moved);
  convolution.set_input(1, weight_name);
  if (convolution.input_size() > 2) {
    convolution.set_input(2, bias_name);
  } else {
    convolution.add_input(bias_name);
  }
  convolution.set_output(0, norm.output(0));
  norm.set_output(0, edit.Fresh(norm.output(0) + "_unread"));
  norm.set_input(0, norm.input(1));  // reads nothing of the convolution until it is dropped
  return true;
}

}  // namespace

int FoldBatchNorms(ModelEdit& edit) {
  int folded = 0;
  for (int n = 0; n < edit.nodes(); ++n) {
    onnx::NodeProto& norm = *edit.graph().mutable_node(n);
    if (norm.op_type() != "BatchNormalization" || norm.input_size() != 5) continue;
    folded += FoldBatchNorm(edit, norm) ? 1 : 0;
  }
  edit.DropUnread();
  return folded;
}

}  // namespace tributary::graph
