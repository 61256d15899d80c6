#include "core/graph/onnx_reader.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

// Names of a stranger's file in messages: without control characters, and not longer than a line.
std::string Shown(std::string_view name) {
  constexpr std::size_t kMost = 80;
  std::string text;
  for (const char c : name.substr(0, kMost))
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return "\"" + text + (name.size() > kMost ? "…\"" : "\"");
}

absl::Status Fault(std::string_view what, std::string_view name, std::string_view fault) {
  return absl::InvalidArgumentError(fmt::format("{} {}: {}", what, Shown(name), fault));
}

absl::StatusOr<ElementType> TypeOf(int type) {
  switch (type) {
    case onnx::TensorProto::FLOAT:
      return ElementType::kFloat32;
    case onnx::TensorProto::INT8:
      return ElementType::kInt8;
    case onnx::TensorProto::UINT8:
      return ElementType::kUint8;
    case onnx::TensorProto::INT32:
      return ElementType::kInt32;
    case onnx::TensorProto::INT64:
      return ElementType::kInt64;
    case onnx::TensorProto::BOOL:
      return ElementType::kBool;
    default:
      return absl::InvalidArgumentError(
          fmt::format("its type {} is not taken; float32, int8, uint8, int32, int64 and bool are", type));
  }
}

// A list of numbers that protobuf holds, of the tensor's type.
template <class T>
absl::Status Copy(const auto& from, Array& to) {
  if (static_cast<std::size_t>(from.size()) != to.As<T>().size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} numbers for the shape {}", from.size(), TextOf(to.spec.shape)));
  }
  std::ranges::transform(from, to.As<T>().begin(), [](auto value) { return static_cast<T>(value); });
  return absl::OkStatus();
}

absl::StatusOr<Array> ArrayOf(const onnx::TensorProto& tensor) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.external_data_size() > 0) {
    return absl::InvalidArgumentError("its values lie in another file; put them into this one");
  }
  if (tensor.has_segment()) return absl::InvalidArgumentError("a segment of a tensor is not taken");
  Spec spec;
  ASSIGN_OR_RETURN(spec.type, TypeOf(tensor.data_type()));
  spec.shape.assign(tensor.dims().begin(), tensor.dims().end());
  RETURN_IF_ERROR(ElementsOf(spec.shape).status());
  // Before anything is allocated: a few bytes may claim gigabytes.
  const std::size_t given =
      tensor.has_raw_data()
          ? tensor.raw_data().size()
          : SizeOf(spec.type) * static_cast<std::size_t>(tensor.float_data_size() + tensor.int32_data_size() +
                                                         tensor.int64_data_size());
  if (given != spec.bytes()) {
    return absl::InvalidArgumentError(fmt::format("{} bytes for {}", given, spec.Text()));
  }
  Array array(std::move(spec));
  if (tensor.has_raw_data()) {
    std::ranges::copy(std::as_bytes(std::span(tensor.raw_data())), array.bytes.begin());  // little-endian
    return array;
  }
  absl::Status status;
  WithType(array.spec.type, [&](auto kind) {
    using T = decltype(kind);
    if constexpr (std::is_same_v<T, float>) {
      status = Copy<T>(tensor.float_data(), array);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      status = Copy<T>(tensor.int64_data(), array);
    } else {
      status = Copy<T>(tensor.int32_data(), array);
    }
  });
  RETURN_IF_ERROR(status);
  return array;
}

absl::StatusOr<Spec> SpecOf(const onnx::ValueInfoProto& value, const ReaderOptions& options) {
  if (!value.type().has_tensor_type()) return absl::InvalidArgumentError("it is no tensor");
  const onnx::TypeProto::Tensor& tensor = value.type().tensor_type();
  Spec spec;
  ASSIGN_OR_RETURN(spec.type, TypeOf(tensor.elem_type()));
  if (!tensor.has_shape()) return absl::InvalidArgumentError("its shape is not said");
  for (const auto& dimension : tensor.shape().dim()) {
    if (dimension.has_dim_value()) {
      spec.shape.push_back(dimension.dim_value());
      continue;
    }
    const auto known = options.dimensions.find(dimension.dim_param());
    spec.shape.push_back(known == options.dimensions.end() ? 1 : known->second);
  }
  RETURN_IF_ERROR(ElementsOf(spec.shape).status());
  return spec;
}

absl::StatusOr<Attribute> AttributeOf(const onnx::AttributeProto& attribute) {
  if (!attribute.ref_attr_name().empty()) return absl::InvalidArgumentError("it refers to a function's");
  switch (attribute.type()) {
    case onnx::AttributeProto::INT:
      return Attribute(std::int64_t{attribute.i()});
    case onnx::AttributeProto::FLOAT:
      return Attribute(attribute.f());
    case onnx::AttributeProto::STRING:
      return Attribute(attribute.s());
    case onnx::AttributeProto::INTS:
      return Attribute(std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end()));
    case onnx::AttributeProto::FLOATS:
      return Attribute(std::vector<float>(attribute.floats().begin(), attribute.floats().end()));
    case onnx::AttributeProto::TENSOR: {
      ASSIGN_OR_RETURN(Array array, ArrayOf(attribute.t()));
      return Attribute(std::move(array));
    }
    default:
      return absl::InvalidArgumentError("its type is not taken");
  }
}

class Reader {
 public:
  Reader(const onnx::GraphProto& proto, const ReaderOptions& options) : proto_(proto), options_(options) {}

  absl::StatusOr<Graph> Read() && {
    if (proto_.node_size() > kMaxNodes) {
      return absl::InvalidArgumentError(
          fmt::format("{} nodes; at most {} are taken", proto_.node_size(), kMaxNodes));
    }
    if (proto_.sparse_initializer_size() > 0)
      return absl::InvalidArgumentError("sparse tensors are not taken");
    RETURN_IF_ERROR(ReadInitializers());
    RETURN_IF_ERROR(ReadInputs());
    RETURN_IF_ERROR(NameResults());
    std::vector<Node> nodes;
    for (const onnx::NodeProto& node : proto_.node()) {
      ASSIGN_OR_RETURN(Node read, ReadNode(node));
      if (read.operation == "Constant") {
        RETURN_IF_ERROR(WithContext("node " + Shown(read.name), KeepConstant(read)));
      } else {
        nodes.push_back(std::move(read));
      }
    }
    RETURN_IF_ERROR(Order(std::move(nodes)));
    for (const onnx::ValueInfoProto& output : proto_.output()) {
      const auto found = places_.find(output.name());
      if (found == places_.end()) return Fault("output", output.name(), "nothing gives it");
      graph_.outputs.push_back(found->second);
    }
    if (graph_.outputs.empty()) return absl::InvalidArgumentError("the graph has no output");
    return std::move(graph_);
  }

 private:
  // A new value of that name. Errors: it has one source already.
  absl::StatusOr<int> NewValue(const std::string& name) {
    if (graph_.values.size() >= kMaxGraphValues)
      return absl::InvalidArgumentError("more values than are taken");
    const int place = static_cast<int>(graph_.values.size());
    if (name.empty() || !places_.emplace(name, place).second) {
      return Fault("value", name, name.empty() ? "it has no name" : "two sources give it");
    }
    graph_.values.push_back({name, {}});
    return place;
  }

  absl::Status ReadInitializers() {
    for (const onnx::TensorProto& tensor : proto_.initializer()) {
      ASSIGN_OR_RETURN(const int place, NewValue(tensor.name()));
      ASSIGN_OR_RETURN(Array array, WithContext("tensor " + Shown(tensor.name()), ArrayOf(tensor)));
      graph_.values[static_cast<std::size_t>(place)].constant.push_back(std::move(array));
    }
    return absl::OkStatus();
  }

  // An input that has an initializer, as files before ir_version 4 list them, is a constant.
  absl::Status ReadInputs() {
    for (const onnx::ValueInfoProto& input : proto_.input()) {
      if (places_.contains(input.name())) continue;
      ASSIGN_OR_RETURN(const int place, NewValue(input.name()));
      ASSIGN_OR_RETURN(Spec spec, WithContext("input " + Shown(input.name()), SpecOf(input, options_)));
      graph_.inputs.push_back({place, std::move(spec)});
    }
    return absl::OkStatus();
  }

  absl::Status NameResults() {
    for (const onnx::NodeProto& node : proto_.node()) {
      for (const std::string& output : node.output()) {
        if (!output.empty()) RETURN_IF_ERROR(NewValue(output).status());
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Node> ReadNode(const onnx::NodeProto& proto) const {
    Node node;
    node.operation = proto.op_type();
    node.name = !proto.name().empty() || proto.output_size() == 0 ? proto.name() : proto.output(0);
    if (!proto.domain().empty() && proto.domain() != "ai.onnx") {
      return Fault("node", node.name, fmt::format("the domain {} is not known", Shown(proto.domain())));
    }
    for (const onnx::AttributeProto& attribute : proto.attribute()) {
      absl::StatusOr<Attribute> read = AttributeOf(attribute);
      if (!read.ok()) {
        return Fault(
            "node", node.name,
            fmt::format("attribute {}: {}", Shown(attribute.name()), std::string(read.status().message())));
      }
      node.attributes.Set(attribute.name(), *std::move(read));
    }
    for (const std::string& input : proto.input()) {
      const auto found = places_.find(input);
      if (!input.empty() && found == places_.end()) {
        return Fault("node", node.name, fmt::format("nothing gives its input {}", Shown(input)));
      }
      node.inputs.push_back(input.empty() ? kAbsent : found->second);
    }
    for (const std::string& output : proto.output()) {
      node.outputs.push_back(output.empty() ? kAbsent : places_.at(output));
    }
    while (!node.inputs.empty() && node.inputs.back() == kAbsent) node.inputs.pop_back();
    while (!node.outputs.empty() && node.outputs.back() == kAbsent) node.outputs.pop_back();
    if (node.outputs.empty() || std::ranges::count(node.outputs, kAbsent) > 0) {
      return Fault("node", node.name,
                   node.outputs.empty() ? "it gives nothing" : "its first outputs have no name");
    }
    return node;
  }

  absl::Status KeepConstant(const Node& node) {
    if (node.attributes.all().size() != 1 || node.outputs.size() != 1 || !node.inputs.empty()) {
      return absl::InvalidArgumentError("a Constant has one attribute, one output and no input");
    }
    std::vector<Array>& constant = graph_.values[static_cast<std::size_t>(node.outputs[0])].constant;
    const Attribute& value = node.attributes.all().begin()->second;
    const auto keep = [&constant](auto numbers, Shape shape) {
      using T = typename decltype(numbers)::value_type;
      Array array({kElementTypeOf<T>, std::move(shape)});
      std::ranges::copy(numbers, array.As<T>().begin());
      constant.push_back(std::move(array));
    };
    if (const auto* const array = std::get_if<Array>(&value)) {
      constant.push_back(*array);
    } else if (const auto* const real = std::get_if<float>(&value)) {
      keep(std::vector<float>{*real}, {});
    } else if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
      keep(std::vector<std::int64_t>{*integer}, {});
    } else if (const auto* const reals = std::get_if<std::vector<float>>(&value)) {
      keep(*reals, {static_cast<std::int64_t>(reals->size())});
    } else if (const auto* const integers = std::get_if<std::vector<std::int64_t>>(&value)) {
      keep(*integers, {static_cast<std::int64_t>(integers->size())});
    } else {
      return absl::InvalidArgumentError("a text is no constant that is taken");
    }
    return absl::OkStatus();
  }

  // Kahn, 1962: a node follows when all its inputs are known.
  absl::Status Order(std::vector<Node> nodes) {
    std::vector<std::vector<std::size_t>> readers(graph_.values.size());
    std::vector<std::size_t> missing(nodes.size());
    std::vector<bool> known(graph_.values.size(), true);
    for (const Node& node : nodes) {
      for (const int output : node.outputs) known[static_cast<std::size_t>(output)] = false;
    }
    std::deque<std::size_t> ready;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      for (const int input : nodes[n].inputs) {
        if (input == kAbsent || known[static_cast<std::size_t>(input)]) continue;
        readers[static_cast<std::size_t>(input)].push_back(n);
        ++missing[n];
      }
      if (missing[n] == 0) ready.push_back(n);
    }
    for (; !ready.empty(); ready.pop_front()) {
      Node& node = nodes[ready.front()];
      for (const int output : node.outputs) {
        for (const std::size_t reader : readers[static_cast<std::size_t>(output)]) {
          if (--missing[reader] == 0) ready.push_back(reader);
        }
      }
      graph_.nodes.push_back(std::move(node));
    }
    if (graph_.nodes.size() == nodes.size()) return absl::OkStatus();
    const auto stuck = std::ranges::find_if(missing, [](std::size_t count) { return count > 0; });
    return Fault("node", nodes[static_cast<std::size_t>(stuck - missing.begin())].name,
                 "it needs its own result: the graph has a cycle");
  }

  const onnx::GraphProto& proto_;
  const ReaderOptions& options_;
  Graph graph_;
  std::unordered_map<std::string, int> places_;
};

absl::Status CheckOperatorSet(const onnx::ModelProto& model) {
  for (const onnx::OperatorSetIdProto& set : model.opset_import()) {
    if (!set.domain().empty() && set.domain() != "ai.onnx") continue;
    if (set.version() >= kLeastOperatorSet && set.version() <= kMostOperatorSet) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format("operator set {}; {} to {} are taken", set.version(),
                                                  kLeastOperatorSet, kMostOperatorSet));
  }
  return absl::InvalidArgumentError("no operator set is named");
}

}  // namespace

absl::StatusOr<Graph> ReadOnnx(std::string_view file, const ReaderOptions& options) {
  onnx::ModelProto model;
  constexpr std::size_t kMost = std::size_t{1} << 31;  // protobuf's
  if (file.size() >= kMost || !model.ParseFromArray(file.data(), static_cast<int>(file.size()))) {
    return absl::InvalidArgumentError("no ONNX file: its bytes are no onnx.ModelProto");
  }
  if (!model.has_graph()) return absl::InvalidArgumentError("no ONNX file: it has no graph");
  RETURN_IF_ERROR(CheckOperatorSet(model));
  if (model.functions_size() > 0) return absl::InvalidArgumentError("functions of a model are not taken");
  ASSIGN_OR_RETURN(Graph graph, Reader(model.graph(), options).Read());
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (entry.key().starts_with(kOwnMetadata)) graph.metadata[entry.key()] = entry.value();
  }
  return graph;
}

}  // namespace tributary::graph
