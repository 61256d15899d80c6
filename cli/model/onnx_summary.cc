#include "cli/model/onnx_summary.h"

#include <onnx/onnx_pb.h>

#include <limits>
#include <string>

namespace tributary::cli {
namespace {

using nlohmann::ordered_json;

ordered_json ValueJson(const onnx::ValueInfoProto& value) {
  ordered_json shape = ordered_json::array();
  const onnx::TypeProto::Tensor& tensor = value.type().tensor_type();
  for (const onnx::TensorShapeProto::Dimension& dimension : tensor.shape().dim()) {
    shape.push_back(dimension.has_dim_param() ? ordered_json(dimension.dim_param())
                                              : ordered_json(dimension.dim_value()));
  }
  return {{"name", value.name()},
          {"dtype", onnx::TensorProto::DataType_Name(tensor.elem_type())},
          {"shape", std::move(shape)},
          {"doc", value.doc_string()}};
}

}  // namespace

absl::StatusOr<ordered_json> SummariseOnnx(std::string_view file) {
  onnx::ModelProto model;
  const bool fits = file.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (!fits || !model.ParseFromArray(file.data(), static_cast<int>(file.size())) || !model.has_graph()) {
    return absl::InvalidArgumentError("not an ONNX model");
  }
  ordered_json json = {{"producer", model.producer_name() + " " + model.producer_version()},
                       {"opset", model.opset_import_size() > 0 ? model.opset_import(0).version() : 0},
                       {"doc", model.doc_string()}};
  json["metadata"] = ordered_json::object();
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    json["metadata"][entry.key()] = entry.value();
  }
  json["inputs"] = ordered_json::array();
  for (const onnx::ValueInfoProto& input : model.graph().input()) json["inputs"].push_back(ValueJson(input));
  json["outputs"] = ordered_json::array();
  for (const onnx::ValueInfoProto& output : model.graph().output()) {
    json["outputs"].push_back(ValueJson(output));
  }
  json["nodes"] = model.graph().node_size();
  json["tensors"] = ordered_json::array();
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    json["tensors"].push_back(
        {{"name", tensor.name()},
         {"dtype", onnx::TensorProto::DataType_Name(tensor.data_type())},
         {"shape", ordered_json(std::vector<std::int64_t>(tensor.dims().begin(), tensor.dims().end()))}});
  }
  return json;
}

}  // namespace tributary::cli
