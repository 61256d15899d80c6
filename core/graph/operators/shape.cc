// Operations that leave elements in their order: another shape, another type, or what the shape is.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "core/graph/operation.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

// The same elements in another shape.
Specs Reshaped(const NodeContext& context, Shape shape) {
  ASSIGN_OR_RETURN(const std::int64_t elements, ElementsOf(shape));
  if (elements == context.inputs[0]->elements()) return std::vector<Spec>{{context.inputs[0]->type, shape}};
  return absl::InvalidArgumentError("the elements of " + TextOf(context.inputs[0]->shape) + " do not fit " +
                                    TextOf(shape));
}

Specs InferReshape(const NodeContext& context) {
  ASSIGN_OR_RETURN(Integers shape, context.ConstantIntegers(1));
  ASSIGN_OR_RETURN(const std::int64_t zeros, context.attributes().Integer("allowzero", 0));
  const Shape& from = context.inputs[0]->shape;
  for (std::size_t i = 0; i < shape.size() && zeros == 0; ++i) {
    if (shape[i] != 0) continue;
    if (i >= from.size()) return absl::InvalidArgumentError("0 copies a dimension that the input lacks");
    shape[i] = from[i];
  }
  const auto open = std::ranges::find(shape, -1);
  if (open != shape.end()) {
    *open = 1;
    ASSIGN_OR_RETURN(const std::int64_t others, ElementsOf(shape));
    if (others == 0) return absl::InvalidArgumentError("-1 stands beside a dimension of 0");
    *open = context.inputs[0]->elements() / others;
  }
  return Reshaped(context, std::move(shape));
}

Specs InferFlatten(const NodeContext& context) {
  const Shape& shape = context.inputs[0]->shape;
  ASSIGN_OR_RETURN(std::int64_t axis, context.attributes().Integer("axis", 1));
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (axis < -rank || axis > rank) return absl::InvalidArgumentError(fmt::format("the axis {}", axis));
  if (axis < 0) axis += rank;
  const auto product = [](auto first, auto last) {
    return std::accumulate(first, last, std::int64_t{1}, std::multiplies<>());
  };
  return Reshaped(context,
                  {product(shape.begin(), shape.begin() + axis), product(shape.begin() + axis, shape.end())});
}

Specs InferSqueeze(const NodeContext& context) {
  const Shape& from = context.inputs[0]->shape;
  Integers axes;
  if (context.Has(1)) {
    ASSIGN_OR_RETURN(const Integers given, context.ConstantIntegers(1));
    ASSIGN_OR_RETURN(axes, AxesOf(given, context.inputs[0]->rank()));
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] == 1) axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!std::ranges::binary_search(axes, static_cast<std::int64_t>(i))) shape.push_back(from[i]);
  }
  return Reshaped(context, std::move(shape));
}

Specs InferUnsqueeze(const NodeContext& context) {
  ASSIGN_OR_RETURN(const Integers given, context.ConstantIntegers(1));
  const std::size_t rank = context.inputs[0]->shape.size() + given.size();
  if (rank > kMaxRank) return absl::InvalidArgumentError("too many dimensions");
  ASSIGN_OR_RETURN(const Integers axes, AxesOf(given, static_cast<std::int64_t>(rank)));
  Shape shape = context.inputs[0]->shape;
  for (const std::int64_t axis : axes) shape.insert(shape.begin() + axis, 1);
  return Reshaped(context, std::move(shape));
}

// From the dimension `start` to the one before `end`, both within what there is.
absl::StatusOr<Shape> PartOfShape(const NodeContext& context) {
  const Shape& shape = context.inputs[0]->shape;
  const std::int64_t rank = context.inputs[0]->rank();
  ASSIGN_OR_RETURN(const std::int64_t start, context.attributes().Integer("start", 0));
  ASSIGN_OR_RETURN(const std::int64_t end, context.attributes().Integer("end", rank));
  const auto place = [rank](std::int64_t at) {
    return at < -rank ? 0 : std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  if (place(start) >= place(end)) return Shape();
  return Shape(shape.begin() + place(start), shape.begin() + place(end));
}

Specs InferShape(const NodeContext& context) {
  ASSIGN_OR_RETURN(const Shape part, PartOfShape(context));
  return std::vector<Spec>{{ElementType::kInt64, {static_cast<std::int64_t>(part.size())}}};
}

absl::Status RunShape(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Shape part, PartOfShape(context));
  std::ranges::copy(part, arguments.outputs[0].As<std::int64_t>().begin());
  return absl::OkStatus();
}

// ONNX's numbers of the types.
absl::StatusOr<ElementType> CastTo(const NodeContext& context) {
  ASSIGN_OR_RETURN(const std::int64_t to, context.attributes().Integer("to", 0));
  constexpr std::pair<std::int64_t, ElementType> kTypes[] = {
      {1, ElementType::kFloat32}, {2, ElementType::kUint8}, {3, ElementType::kInt8},
      {6, ElementType::kInt32},   {7, ElementType::kInt64}, {9, ElementType::kBool}};
  for (const auto& [number, type] : kTypes) {
    if (number == to) return type;
  }
  return absl::InvalidArgumentError(fmt::format("type {} is not taken", to));
}

Specs InferCast(const NodeContext& context) {
  ASSIGN_OR_RETURN(const ElementType type, CastTo(context));
  return std::vector<Spec>{{type, context.inputs[0]->shape}};
}

// A float out of range becomes the nearest end, NaN zero; integers wrap around.
template <class To, class From>
To Converted(From value) {
  if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
    if (!(value == value)) return To{};
    if (value <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (value >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

absl::Status RunCast(const NodeContext& context, const Arguments& arguments) {
  const ElementType type = arguments.outputs[0].spec->type;
  WithType(context.inputs[0]->type, [&](auto from) {
    WithType(type, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      std::ranges::transform(
          arguments.inputs[0].As<const From>(), arguments.outputs[0].As<To>().begin(), [&](From value) {
            return type == ElementType::kBool ? static_cast<To>(value != From{}) : Converted<To>(value);
          });
    });
  });
  return absl::OkStatus();
}

// For inference: all pass. The mask, which says so, is not given.
Specs InferDropout(const NodeContext& context) {
  if (context.Has(2)) return absl::InvalidArgumentError("dropout for training is not taken");
  if (context.node->outputs.size() > 1) return absl::InvalidArgumentError("the mask is not given");
  return std::vector<Spec>{*context.inputs[0]};
}

constexpr Operation kShapes[] = {
    {"Reshape", 2, 2, InferReshape, CopyElements},
    {"Flatten", 1, 1, InferFlatten, CopyElements},
    {"Squeeze", 1, 2, InferSqueeze, CopyElements},
    {"Unsqueeze", 2, 2, InferUnsqueeze, CopyElements},
    {"Dropout", 1, 3, InferDropout, CopyElements},
    {"Shape", 1, 1, InferShape, RunShape},
    {"Cast", 1, 1, InferCast, RunCast},
};

}  // namespace

std::span<const Operation> ShapeOperations() { return kShapes; }

}  // namespace tributary::graph
