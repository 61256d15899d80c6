// Small ONNX models, for tests.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tributary::graph::testing {

class ModelText {
 public:
  ModelText() {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(13);
  }

  // A negative dimension is of any size, and called "N".
  ModelText& Input(const std::string& name, const std::vector<std::int64_t>& shape,
                   int type = onnx::TensorProto::FLOAT) {
    Describe(*graph().add_input(), name, shape, type);
    return *this;
  }
  ModelText& Output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }
  ModelText& Floats(const std::string& name, const std::vector<std::int64_t>& shape,
                    const std::vector<float>& values) {
    onnx::TensorProto& tensor = Tensor(name, shape, onnx::TensorProto::FLOAT);
    tensor.mutable_float_data()->Add(values.begin(), values.end());
    return *this;
  }
  ModelText& Integers(const std::string& name, const std::vector<std::int64_t>& values) {
    onnx::TensorProto& tensor =
        Tensor(name, {static_cast<std::int64_t>(values.size())}, onnx::TensorProto::INT64);
    tensor.mutable_int64_data()->Add(values.begin(), values.end());
    return *this;
  }
  ModelText& Node(const std::string& operation, const std::vector<std::string>& inputs,
                  const std::string& output,
                  const std::vector<std::pair<std::string, std::int64_t>>& attributes = {}) {
    onnx::NodeProto& node = *graph().add_node();
    node.set_op_type(operation);
    node.mutable_input()->Add(inputs.begin(), inputs.end());
    node.add_output(output);
    for (const auto& [name, value] : attributes) {
      onnx::AttributeProto& attribute = *node.add_attribute();
      attribute.set_name(name);
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(value);
    }
    return *this;
  }

  // Lists among the attributes of the last node.
  ModelText& With(const std::string& name, const std::vector<std::int64_t>& values) {
    onnx::AttributeProto& attribute = *graph().mutable_node(graph().node_size() - 1)->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.mutable_ints()->Add(values.begin(), values.end());
    return *this;
  }
  // A number among the attributes of the last node.
  ModelText& WithReal(const std::string& name, float value) {
    onnx::AttributeProto& attribute = *graph().mutable_node(graph().node_size() - 1)->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
    return *this;
  }
  // int8, uint8 or int32.
  ModelText& Small(const std::string& name, const std::vector<std::int64_t>& shape,
                   const std::vector<std::int32_t>& values, int type) {
    Tensor(name, shape, type).mutable_int32_data()->Add(values.begin(), values.end());
    return *this;
  }

  onnx::ModelProto& proto() { return model_; }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  std::string Bytes() const { return model_.SerializeAsString(); }

 private:
  onnx::TensorProto& Tensor(const std::string& name, const std::vector<std::int64_t>& shape, int type) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    tensor.mutable_dims()->Add(shape.begin(), shape.end());
    return tensor;
  }
  static void Describe(onnx::ValueInfoProto& value, const std::string& name,
                       const std::vector<std::int64_t>& shape, int type) {
    value.set_name(name);
    onnx::TypeProto::Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (const std::int64_t dimension : shape) {
      auto& added = *tensor.mutable_shape()->add_dim();
      if (dimension < 0) {
        added.set_dim_param("N");
      } else {
        added.set_dim_value(dimension);
      }
    }
  }

  onnx::ModelProto model_;
};

}  // namespace tributary::graph::testing
