#include "core/graph/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/status/macros.h"

namespace tributary::graph {
namespace {

std::map<std::string_view, const Operation*, std::less<>> MakeTable() {
  std::map<std::string_view, const Operation*, std::less<>> table;
  for (const std::span<const Operation> part :
       {ConvolutionOperations(), ElementwiseOperations(), IntegerOperations(), LayoutOperations(),
        MatrixOperations(), PoolingOperations(), QuantisationOperations(), ReductionOperations(),
        ResizeOperations(), ShapeOperations()}) {
    for (const Operation& operation : part) table[operation.name] = &operation;
  }
  return table;
}

const std::map<std::string_view, const Operation*, std::less<>>& Table() {
  static const auto& table = *new std::map<std::string_view, const Operation*, std::less<>>(MakeTable());
  return table;
}

}  // namespace

const Operation* FindOperation(std::string_view name) {
  const auto entry = Table().find(name);
  return entry == Table().end() ? nullptr : entry->second;
}

std::vector<std::string_view> OperationNames() {
  std::vector<std::string_view> names;
  for (const auto& [name, operation] : Table()) names.push_back(name);
  return names;
}

absl::StatusOr<std::vector<std::int64_t>> NodeContext::ConstantIntegers(std::size_t input) const {
  if (!Has(input)) return absl::InvalidArgumentError(InputText(*this, input) + " is missing");
  if (constants[input] == nullptr) {
    return absl::InvalidArgumentError(InputText(*this, input) +
                                      " must be a constant: shapes are planned before the run");
  }
  if (inputs[input]->type != ElementType::kInt64) {
    return absl::InvalidArgumentError(InputText(*this, input) + " must be int64");
  }
  const std::span<const std::int64_t> values = constants[input]->As<std::int64_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

absl::Status CopyElements(const NodeContext& /*context*/, const Arguments& arguments) {
  std::copy_n(arguments.inputs[0].data, arguments.inputs[0].spec->bytes(), arguments.outputs[0].data);
  return absl::OkStatus();
}

std::string InputText(const NodeContext& context, std::size_t input) {
  const Operation* const operation = FindOperation(context.node->operation);
  if (operation == nullptr || input >= operation->input_names.size()) return fmt::format("input {}", input);
  return fmt::format("input {} ({})", input, operation->input_names[input]);
}

absl::Status ExpectType(const NodeContext& context, std::size_t input, ElementType type) {
  if (!context.Has(input)) return absl::InvalidArgumentError(InputText(context, input) + " is missing");
  if (context.inputs[input]->type == type) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} is {}; only {} is taken", InputText(context, input),
                                                context.inputs[input]->Text(), NameOf(type)));
}

absl::StatusOr<std::int64_t> AxisOf(std::int64_t axis, std::int64_t rank) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  return absl::InvalidArgumentError(fmt::format("the axis {} of {} dimensions", axis, rank));
}

absl::StatusOr<std::int64_t> AxisOf(const NodeContext& context, std::int64_t otherwise) {
  ASSIGN_OR_RETURN(const std::int64_t axis, context.attributes().Integer("axis", otherwise));
  return AxisOf(axis, context.inputs[0]->rank());
}

absl::StatusOr<Integers> AxesOf(const Integers& axes, std::int64_t rank) {
  Integers result;
  for (const std::int64_t axis : axes) {
    ASSIGN_OR_RETURN(const std::int64_t place, AxisOf(axis, rank));
    result.push_back(place);
  }
  std::ranges::sort(result);
  if (std::ranges::adjacent_find(result) == result.end()) return result;
  return absl::InvalidArgumentError("an axis is given twice");
}

absl::StatusOr<Shape> Broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) {
      return absl::InvalidArgumentError(fmt::format("the shapes {} and {} do not fit", TextOf(a), TextOf(b)));
    }
    result[result.size() - 1 - i] = left == 1 ? right : left;
  }
  RETURN_IF_ERROR(ElementsOf(result).status());
  return result;
}

std::vector<std::int64_t> StridesOf(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i]) strides[i] = stride;
  return strides;
}

std::vector<std::int64_t> BroadcastStrides(const Shape& shape, const Shape& to) {
  const std::vector<std::int64_t> own = StridesOf(shape);
  std::vector<std::int64_t> strides(to.size());
  const std::size_t shift = to.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) strides[shift + i] = shape[i] == 1 ? 0 : own[i];
  return strides;
}

}  // namespace tributary::graph
