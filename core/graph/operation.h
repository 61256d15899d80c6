// What a kind of node does: which results it gives for which inputs, and how they are computed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/graph/array.h"
#include "core/graph/node.h"
#include "core/nn/kernel/gemm.h"

namespace tributary::graph {

// A node with what is known of its inputs before it runs.
struct NodeContext {
  const Node* node = nullptr;
  std::vector<const Spec*> inputs;      // null: absent
  std::vector<const Array*> constants;  // of the inputs; null: not known before the run

  const Attributes& attributes() const { return node->attributes; }
  std::size_t count() const { return inputs.size(); }
  bool Has(std::size_t input) const { return input < inputs.size() && inputs[input] != nullptr; }
  // The integers of an input that must be known before the run, as shapes and axes are. Errors:
  // InvalidArgument if it is not known or is no int64.
  absl::StatusOr<std::vector<std::int64_t>> ConstantIntegers(std::size_t input) const;
};

// What the nodes of a session share while they run; it grows to what the largest node needs, which the
// session has counted.
struct Scratch {
  nn::Gemm gemm;
  std::vector<float> columns;
};

// The shapes were checked by `infer`.
struct Arguments {
  std::span<const View> inputs;  // data null: absent
  std::span<const View> outputs;
  Scratch* scratch;
};

struct Operation {
  std::string_view name;
  std::size_t least_inputs, most_inputs;
  // What the node gives; the first `least_inputs` inputs are there. Errors: InvalidArgument.
  absl::StatusOr<std::vector<Spec>> (*infer)(const NodeContext& context);
  // Errors: InvalidArgument for values that the node cannot take, such as an index out of range.
  absl::Status (*run)(const NodeContext& context, const Arguments& arguments);
  // Multiply-accumulates of a run, a pool's looks at pixels included; below 2^62. Null: no more than a few
  // for each element of inputs and outputs, which memory bounds.
  std::int64_t (*products)(const NodeContext& context, const Spec& output) = nullptr;
  // Floats of scratch that a run takes; null: none.
  std::int64_t (*scratch)(const NodeContext& context) = nullptr;
  // The inputs as ONNX names them, for errors; empty: errors count them.
  std::span<const std::string_view> input_names = {};
};

// Null for a kind of node that is not known. The names and semantics are those of ONNX, operator sets 13 to
// 17.
const Operation* FindOperation(std::string_view name);
std::vector<std::string_view> OperationNames();  // ascending

// Each file in core/graph/operators has its own.
std::span<const Operation> ConvolutionOperations();
std::span<const Operation> ElementwiseOperations();
std::span<const Operation> IntegerOperations();
std::span<const Operation> LayoutOperations();
std::span<const Operation> MatrixOperations();
std::span<const Operation> PoolingOperations();
std::span<const Operation> QuantisationOperations();
std::span<const Operation> ReductionOperations();
std::span<const Operation> ResizeOperations();
std::span<const Operation> ShapeOperations();

// --- what operations share ---

using Specs = absl::StatusOr<std::vector<Spec>>;
using Integers = std::vector<std::int64_t>;

constexpr std::size_t Size(std::int64_t dimension) { return static_cast<std::size_t>(dimension); }

// The run of an operation whose only output has the elements of its first input.
absl::Status CopyElements(const NodeContext& context, const Arguments& arguments);

// "input 4", and its name in brackets if the operation names its inputs.
std::string InputText(const NodeContext& context, std::size_t input);
// Errors: InvalidArgument unless the input is there and has that type.
absl::Status ExpectType(const NodeContext& context, std::size_t input, ElementType type);
// An axis from −rank to rank − 1, as 0 to rank − 1.
absl::StatusOr<std::int64_t> AxisOf(std::int64_t axis, std::int64_t rank);
// The attribute axis, of input 0.
absl::StatusOr<std::int64_t> AxisOf(const NodeContext& context, std::int64_t otherwise);
// Different axes of so many dimensions, ascending.
absl::StatusOr<Integers> AxesOf(const Integers& axes, std::int64_t rank);
// NumPy's rules. Errors: InvalidArgument for shapes that do not fit.
absl::StatusOr<Shape> Broadcast(const Shape& a, const Shape& b);
// Elements per step of each dimension; 0 where a dimension of one is repeated to fill `to`.
std::vector<std::int64_t> BroadcastStrides(const Shape& shape, const Shape& to);
std::vector<std::int64_t> StridesOf(const Shape& shape);

// The next place, row-major; behind the last one the first. The index may leave out the last dimensions.
inline void Advance(Integers& index, const Shape& shape) {
  for (std::size_t d = index.size(); d-- > 0;) {
    if (++index[d] < shape[d]) return;
    index[d] = 0;
  }
}

// Calls visit(i, at) for each place of the shape, row-major: the ith lies at Σ index · stride + offset.
void ForEachElement(const Shape& shape, const Integers& strides, std::int64_t offset, const auto& visit) {
  const std::int64_t elements = Spec{ElementType::kFloat32, shape}.elements();
  Integers index(shape.size());
  std::int64_t at = offset;
  for (std::int64_t i = 0; i < elements; ++i) {
    visit(Size(i), Size(at));
    for (std::size_t d = shape.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < shape[d]) break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace tributary::graph
