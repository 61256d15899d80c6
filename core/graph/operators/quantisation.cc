// Between floats and the integers that stand for them: x = scale · (q − zero point).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/operation.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

// Scale and zero point of each index of an axis, or of all elements.
struct Grid {
  std::size_t inner = 1, steps = 1;  // element i has the scale (i / inner) % steps

  std::size_t At(std::size_t i) const { return i / inner % steps; }
};

absl::StatusOr<Grid> GridOf(const NodeContext& context) {
  const Shape& shape = context.inputs[0]->shape;
  const Shape& scale = context.inputs[1]->shape;
  Grid grid;
  if (scale.empty() || (scale.size() == 1 && scale[0] == 1)) return grid;
  ASSIGN_OR_RETURN(const std::int64_t axis, AxisOf(context, 1));
  if (scale.size() != 1 || scale[0] != shape[static_cast<std::size_t>(axis)]) {
    return absl::InvalidArgumentError(
        fmt::format("scales of {} do not fit axis {} of {}", TextOf(scale), axis, TextOf(shape)));
  }
  grid.steps = static_cast<std::size_t>(scale[0]);
  for (auto d = static_cast<std::size_t>(axis) + 1; d < shape.size(); ++d) {
    grid.inner *= static_cast<std::size_t>(shape[d]);
  }
  return grid;
}

absl::Status CheckScales(std::span<const float> scales) {
  for (const float scale : scales) {
    if (!(scale > 0) || !std::isfinite(scale)) {
      return absl::InvalidArgumentError(fmt::format("a scale is {}; it must be above 0 and finite", scale));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckGrid(const NodeContext& context) {
  RETURN_IF_ERROR(ExpectType(context, 1, ElementType::kFloat32));
  RETURN_IF_ERROR(GridOf(context).status());
  if (context.constants[1] != nullptr) RETURN_IF_ERROR(CheckScales(context.constants[1]->As<float>()));
  if (context.Has(2) && context.inputs[2]->shape != context.inputs[1]->shape) {
    return absl::InvalidArgumentError("scales and zero points are of different shapes");
  }
  return absl::OkStatus();
}

bool IsByte(ElementType type) { return type == ElementType::kInt8 || type == ElementType::kUint8; }

Specs InferQuantise(const NodeContext& context) {
  RETURN_IF_ERROR(ExpectType(context, 0, ElementType::kFloat32));
  RETURN_IF_ERROR(CheckGrid(context));
  const ElementType type = context.Has(2) ? context.inputs[2]->type : ElementType::kUint8;
  if (!IsByte(type)) return absl::InvalidArgumentError("the zero point must be int8 or uint8");
  return std::vector<Spec>{{type, context.inputs[0]->shape}};
}

absl::Status RunQuantise(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Grid grid, GridOf(context));
  const std::span<const float> x = arguments.inputs[0].As<float>(), scales = arguments.inputs[1].As<float>();
  RETURN_IF_ERROR(CheckScales(scales));
  WithType(arguments.outputs[0].spec->type, [&](auto kind) {
    using T = decltype(kind);
    const std::span<T> y = arguments.outputs[0].As<T>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float zero = context.Has(2) ? static_cast<float>(arguments.inputs[2].As<T>()[grid.At(i)]) : 0.0f;
      const float level = std::nearbyint(x[i] / scales[grid.At(i)]) + zero;  // ties to even
      // NaN becomes the zero point.
      const float known = level == level ? level : zero;
      y[i] = static_cast<T>(std::clamp(known, static_cast<float>(std::numeric_limits<T>::min()),
                                       static_cast<float>(std::numeric_limits<T>::max())));
    }
  });
  return absl::OkStatus();
}

Specs InferDequantise(const NodeContext& context) {
  if (!context.Has(0) ||
      !(IsByte(context.inputs[0]->type) || context.inputs[0]->type == ElementType::kInt32)) {
    return absl::InvalidArgumentError("input 0 must be int8, uint8 or int32");
  }
  RETURN_IF_ERROR(CheckGrid(context));
  if (context.Has(2)) RETURN_IF_ERROR(ExpectType(context, 2, context.inputs[0]->type));
  return std::vector<Spec>{{ElementType::kFloat32, context.inputs[0]->shape}};
}

absl::Status RunDequantise(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Grid grid, GridOf(context));
  const std::span<const float> scales = arguments.inputs[1].As<float>();
  RETURN_IF_ERROR(CheckScales(scales));
  const std::span<float> y = arguments.outputs[0].As<float>();
  WithType(context.inputs[0]->type, [&](auto kind) {
    using T = decltype(kind);
    const std::span<const T> x = arguments.inputs[0].As<const T>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::int64_t zero = context.Has(2) ? arguments.inputs[2].As<T>()[grid.At(i)] : 0;
      y[i] = static_cast<float>(static_cast<std::int64_t>(x[i]) - zero) * scales[grid.At(i)];
    }
  });
  return absl::OkStatus();
}

constexpr Operation kQuantisations[] = {
    {"QuantizeLinear", 2, 3, InferQuantise, RunQuantise},
    {"DequantizeLinear", 2, 3, InferDequantise, RunDequantise},
};

}  // namespace

std::span<const Operation> QuantisationOperations() { return kQuantisations; }

}  // namespace tributary::graph
