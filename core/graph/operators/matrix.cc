// Products of matrices.
#include <algorithm>

#include "core/graph/operation.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

// A matrix of a stack, by NumPy's rules for vectors: a row on the left, a column on the right.
struct Stack {
  Shape batch;
  std::int64_t rows = 1, columns = 1;

  Stack(const Shape& shape, bool left) {
    if (shape.size() == 1) {
      (left ? columns : rows) = shape[0];
      return;
    }
    batch.assign(shape.begin(), shape.end() - 2);
    rows = shape[shape.size() - 2];
    columns = shape.back();
  }
};

Specs InferMatMul(const NodeContext& context) {
  for (const std::size_t i : {0, 1}) {
    RETURN_IF_ERROR(ExpectType(context, i, ElementType::kFloat32));
    if (context.inputs[i]->shape.empty()) return absl::InvalidArgumentError("a number is no matrix");
  }
  const Shape& a = context.inputs[0]->shape;
  const Shape& b = context.inputs[1]->shape;
  const Stack left(a, true), right(b, false);
  if (left.columns != right.rows) {
    return absl::InvalidArgumentError("the matrices " + TextOf(a) + " and " + TextOf(b) + " do not fit");
  }
  ASSIGN_OR_RETURN(Shape shape, Broadcast(left.batch, right.batch));
  if (a.size() > 1) shape.push_back(left.rows);
  if (b.size() > 1) shape.push_back(right.columns);
  RETURN_IF_ERROR(ElementsOf(shape).status());
  return std::vector<Spec>{{ElementType::kFloat32, shape}};
}

absl::Status RunMatMul(const NodeContext& context, const Arguments& arguments) {
  const Stack left(context.inputs[0]->shape, true), right(context.inputs[1]->shape, false);
  const std::span<float> result = arguments.outputs[0].As<float>();
  if (left.columns == 0) std::ranges::fill(result, 0.0f);
  if (result.empty() || left.columns == 0) return absl::OkStatus();
  const Shape batch = *Broadcast(left.batch, right.batch);
  const std::vector<std::int64_t> left_strides = BroadcastStrides(left.batch, batch),
                                  right_strides = BroadcastStrides(right.batch, batch);
  const std::vector<std::int64_t> own = StridesOf(batch);
  const std::int64_t matrices = Spec{ElementType::kFloat32, batch}.elements();
  for (std::int64_t m = 0; m < matrices; ++m) {
    std::int64_t at_left = 0, at_right = 0;
    for (std::size_t d = 0; d < batch.size(); ++d) {
      const std::int64_t index = m / own[d] % batch[d];
      at_left += index * left_strides[d];
      at_right += index * right_strides[d];
    }
    const float* const a = arguments.inputs[0].As<float>().data() + at_left * left.rows * left.columns;
    const float* const b = arguments.inputs[1].As<float>().data() + at_right * right.rows * right.columns;
    arguments.scratch->gemm.Multiply(nn::RowMajor(a, Size(left.rows), Size(left.columns)),
                                     nn::RowMajor(b, Size(right.rows), Size(right.columns)),
                                     result.data() + m * left.rows * right.columns);
  }
  return absl::OkStatus();
}

std::int64_t ProductsOfMatMul(const NodeContext& context, const Spec& output) {
  return output.elements() * context.inputs[0]->shape.back();
}

struct GemmOptions {
  bool a_transposed = false, b_transposed = false;
  float alpha = 1, beta = 1;
};

absl::StatusOr<GemmOptions> GemmOptionsOf(const NodeContext& context) {
  GemmOptions options;
  ASSIGN_OR_RETURN(const std::int64_t a, context.attributes().Integer("transA", 0));
  ASSIGN_OR_RETURN(const std::int64_t b, context.attributes().Integer("transB", 0));
  ASSIGN_OR_RETURN(options.alpha, context.attributes().Real("alpha", 1));
  ASSIGN_OR_RETURN(options.beta, context.attributes().Real("beta", 1));
  options.a_transposed = a != 0;
  options.b_transposed = b != 0;
  return options;
}

Specs InferGemm(const NodeContext& context) {
  ASSIGN_OR_RETURN(const GemmOptions options, GemmOptionsOf(context));
  for (std::size_t i = 0; i < context.count(); ++i) {
    if (i == 2 && !context.Has(2)) continue;
    RETURN_IF_ERROR(ExpectType(context, i, ElementType::kFloat32));
    if (i < 2 && context.inputs[i]->rank() != 2)
      return absl::InvalidArgumentError("A and B must be matrices");
  }
  Shape a = context.inputs[0]->shape, b = context.inputs[1]->shape;
  if (options.a_transposed) std::swap(a[0], a[1]);
  if (options.b_transposed) std::swap(b[0], b[1]);
  if (a[1] != b[0]) {
    return absl::InvalidArgumentError("the matrices " + TextOf(a) + " and " + TextOf(b) + " do not fit");
  }
  const Shape shape = {a[0], b[1]};
  RETURN_IF_ERROR(ElementsOf(shape).status());
  if (context.Has(2)) {
    ASSIGN_OR_RETURN(const Shape sum, Broadcast(shape, context.inputs[2]->shape));
    if (sum != shape) return absl::InvalidArgumentError("C is larger than the product");
  }
  return std::vector<Spec>{{ElementType::kFloat32, shape}};
}

absl::Status RunGemm(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const GemmOptions options, GemmOptionsOf(context));
  const auto matrix = [&](std::size_t i, bool transposed) {
    const Shape& shape = context.inputs[i]->shape;
    const nn::MatrixView view =
        nn::RowMajor(arguments.inputs[i].As<float>().data(), Size(shape[0]), Size(shape[1]));
    return transposed ? nn::Transposed(view) : view;
  };
  const nn::MatrixView a = matrix(0, options.a_transposed), b = matrix(1, options.b_transposed);
  const std::span<float> result = arguments.outputs[0].As<float>();
  std::ranges::fill(result, 0.0f);
  if (!result.empty() && a.columns > 0) arguments.scratch->gemm.Multiply(a, b, result.data());
  for (float& value : result) value *= options.alpha;
  if (!context.Has(2)) return absl::OkStatus();
  const std::span<const float> c = arguments.inputs[2].As<float>();
  const Shape& shape = arguments.outputs[0].spec->shape;
  const std::vector<std::int64_t> strides = BroadcastStrides(context.inputs[2]->shape, shape);
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    for (std::int64_t column = 0; column < shape[1]; ++column) {
      result[Size(row * shape[1] + column)] += options.beta * c[Size(row * strides[0] + column * strides[1])];
    }
  }
  return absl::OkStatus();
}

std::int64_t ProductsOfGemm(const NodeContext& context, const Spec& output) {
  const std::int64_t elements = context.inputs[0]->elements();
  return output.shape[0] == 0 ? 0 : elements / output.shape[0] * output.elements();
}

constexpr Operation kMatrices[] = {
    {"MatMul", 2, 2, InferMatMul, RunMatMul, ProductsOfMatMul},
    {"Gemm", 2, 3, InferGemm, RunGemm, ProductsOfGemm},
};

}  // namespace

std::span<const Operation> MatrixOperations() { return kMatrices; }

}  // namespace tributary::graph
