// An ONNX file that is being changed, and what is known of its values.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/graph/array.h"
#include "core/graph/node.h"
#include "core/graph/onnx_reader.h"

namespace tributary::graph {

// The file's message, beside the graph that the reader made of it. What is looked up is the file as it was
// read: changes to the message do not show in it.
class ModelEdit {
 public:
  static constexpr int kNoNode = -1;

  // Errors: those of ReadOnnx.
  static absl::StatusOr<ModelEdit> Open(std::string_view file, const ReaderOptions& options);

  onnx::ModelProto& model() { return model_; }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  const onnx::NodeProto& node(int place) const { return model_.graph().node(place); }
  int nodes() const { return model_.graph().node_size(); }
  std::string Bytes() const { return model_.SerializeAsString(); }

  // An initializer or a Constant. Null: the value is none.
  const Array* ConstantOf(const std::string& value) const;
  int ProducerOf(const std::string& value) const;  // kNoNode: an input or a constant
  bool IsOutput(const std::string& value) const { return outputs_.contains(value); }
  const std::vector<int>& ReadersOf(const std::string& value) const;  // by node; twice if it reads it twice
  // Whether the node's first output goes to one other node, and nowhere else.
  bool HasOneReader(const std::string& value) const {
    return ReadersOf(value).size() == 1 && !IsOutput(value);
  }

  static std::int64_t Integer(const onnx::NodeProto& node, std::string_view name, std::int64_t otherwise);
  static float Real(const onnx::NodeProto& node, std::string_view name, float otherwise);

  // A name that no value of the file has, made of `stem`.
  std::string Fresh(const std::string& stem);
  void AddTensor(const std::string& name, const Shape& shape, std::span<const float> values);
  void AddTensor(const std::string& name, const Shape& shape, std::span<const std::int8_t> values);
  void AddTensor(const std::string& name, const Shape& shape, std::span<const std::uint8_t> values);
  void AddTensor(const std::string& name, const Shape& shape, std::span<const std::int32_t> values);

  // Removes nodes that nothing reads, and initializers that no node reads. Looks at the changed message.
  void DropUnread();

 private:
  onnx::TensorProto& NewTensor(const std::string& name, const Shape& shape, int type);

  onnx::ModelProto model_;
  Graph read_;
  std::map<std::string, int, std::less<>> places_;     // of values in read_
  std::map<std::string, int, std::less<>> producers_;  // nodes of the message
  std::map<std::string, std::vector<int>, std::less<>> readers_;
  std::map<std::string, bool, std::less<>> outputs_, taken_;
};

// Convolutions take over the batch norm behind them, in a file that Session::Load takes. The number of those
// that were folded.
int FoldBatchNorms(ModelEdit& edit);

}  // namespace tributary::graph
