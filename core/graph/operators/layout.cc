// Operations that move elements without changing them.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "core/graph/operation.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

// A result whose element at each place is the input's at Σ index · stride + offset.
void GatherView(const Arguments& arguments, const Integers& strides, std::int64_t offset) {
  WithType(arguments.inputs[0].spec->type, [&](auto kind) {
    using T = decltype(kind);
    const std::span<const T> from = arguments.inputs[0].As<const T>();
    const std::span<T> to = arguments.outputs[0].As<T>();
    ForEachElement(arguments.outputs[0].spec->shape, strides, offset,
                   [&](std::size_t i, std::size_t at) { to[i] = from[at]; });
  });
}

absl::StatusOr<Integers> PermutationOf(const NodeContext& context) {
  Integers reversed(context.inputs[0]->shape.size());
  std::iota(reversed.rbegin(), reversed.rend(), std::int64_t{0});
  ASSIGN_OR_RETURN(Integers permutation, context.attributes().Integers("perm", reversed));
  Integers sorted = permutation;
  std::ranges::sort(sorted);
  std::ranges::reverse(reversed);
  if (sorted == reversed) return permutation;
  return absl::InvalidArgumentError("perm is no permutation of the input's dimensions");
}

Specs InferTranspose(const NodeContext& context) {
  ASSIGN_OR_RETURN(const Integers permutation, PermutationOf(context));
  Shape shape;
  for (const std::int64_t axis : permutation) shape.push_back(context.inputs[0]->shape[Size(axis)]);
  return std::vector<Spec>{{context.inputs[0]->type, shape}};
}

absl::Status RunTranspose(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Integers permutation, PermutationOf(context));
  const Integers own = StridesOf(context.inputs[0]->shape);
  Integers strides;
  for (const std::int64_t axis : permutation) strides.push_back(own[Size(axis)]);
  GatherView(arguments, strides, 0);
  return absl::OkStatus();
}

Specs InferExpand(const NodeContext& context) {
  ASSIGN_OR_RETURN(const Integers to, context.ConstantIntegers(1));
  RETURN_IF_ERROR(ElementsOf(to).status());
  ASSIGN_OR_RETURN(Shape shape, Broadcast(context.inputs[0]->shape, to));
  return std::vector<Spec>{{context.inputs[0]->type, std::move(shape)}};
}

absl::Status RunExpand(const NodeContext& context, const Arguments& arguments) {
  GatherView(arguments, BroadcastStrides(context.inputs[0]->shape, arguments.outputs[0].spec->shape), 0);
  return absl::OkStatus();
}

// For each dimension: the first element that is taken, the step to the next, and how many.
struct Cut {
  Integers first, step;
  Shape shape;
};

absl::StatusOr<Cut> CutOf(const NodeContext& context) {
  const Shape& from = context.inputs[0]->shape;
  ASSIGN_OR_RETURN(const Integers starts, context.ConstantIntegers(1));
  ASSIGN_OR_RETURN(const Integers ends, context.ConstantIntegers(2));
  Integers axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  if (context.Has(3)) {
    ASSIGN_OR_RETURN(axes, context.ConstantIntegers(3));
  }
  if (context.Has(4)) {
    ASSIGN_OR_RETURN(steps, context.ConstantIntegers(4));
  }
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size()) {
    return absl::InvalidArgumentError("starts, ends, axes and steps are of different lengths");
  }
  RETURN_IF_ERROR(AxesOf(axes, context.inputs[0]->rank()).status());
  Cut cut{Integers(from.size()), Integers(from.size(), 1), from};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t d = Size(*AxisOf(axes[i], context.inputs[0]->rank()));
    const std::int64_t size = from[d], step = steps[i];
    if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) {
      return absl::InvalidArgumentError(fmt::format("a step of {}", step));
    }
    const std::int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
    const auto place = [&](std::int64_t at) {
      return std::clamp(at < 0 ? (at < -size ? least : at + size) : at, least, most);
    };
    const std::int64_t first = place(starts[i]), end = place(ends[i]);
    const std::int64_t distance = step > 0 ? end - first : first - end, stride = step > 0 ? step : -step;
    cut.first[d] = std::max<std::int64_t>(first, 0);
    cut.step[d] = step;
    cut.shape[d] = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  }
  return cut;
}

Specs InferSlice(const NodeContext& context) {
  ASSIGN_OR_RETURN(Cut cut, CutOf(context));
  return std::vector<Spec>{{context.inputs[0]->type, std::move(cut.shape)}};
}

absl::Status RunSlice(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Cut cut, CutOf(context));
  Integers strides = StridesOf(context.inputs[0]->shape);
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    offset += cut.first[d] * strides[d];
    // A dimension of one element has no next one, however far the step would go.
    strides[d] = cut.shape[d] > 1 ? strides[d] * cut.step[d] : 0;
  }
  if (arguments.outputs[0].spec->elements() > 0) GatherView(arguments, strides, offset);
  return absl::OkStatus();
}

Specs InferConcat(const NodeContext& context) {
  ASSIGN_OR_RETURN(const std::int64_t axis, AxisOf(context, 0));
  Spec spec = *context.inputs[0];
  for (std::size_t i = 1; i < context.count(); ++i) {
    RETURN_IF_ERROR(ExpectType(context, i, spec.type));
    Shape other = context.inputs[i]->shape;
    if (other.size() == spec.shape.size()) {
      spec.shape[Size(axis)] += other[Size(axis)];
      other[Size(axis)] = spec.shape[Size(axis)];
    }
    if (other != spec.shape) {
      return absl::InvalidArgumentError(fmt::format("input {} does not fit the others", i));
    }
  }
  RETURN_IF_ERROR(ElementsOf(spec.shape).status());
  return std::vector<Spec>{std::move(spec)};
}

// Bytes of an array from one index of the axis before `axis` to the next.
std::size_t BlockOf(const Spec& spec, std::int64_t axis) {
  std::size_t block = SizeOf(spec.type);
  for (std::size_t d = Size(axis); d < spec.shape.size(); ++d) block *= Size(spec.shape[d]);
  return block;
}

absl::Status RunConcat(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::int64_t axis, AxisOf(context, 0));
  const std::size_t all = BlockOf(*arguments.outputs[0].spec, axis);
  std::size_t at = 0;
  for (const View& input : arguments.inputs) {
    const std::size_t block = BlockOf(*input.spec, axis);
    for (std::size_t i = 0; block > 0 && i < input.spec->bytes() / block; ++i) {
      std::copy_n(input.data + i * block, block, arguments.outputs[0].data + i * all + at);
    }
    at += block;
  }
  return absl::OkStatus();
}

Specs InferSplit(const NodeContext& context) {
  ASSIGN_OR_RETURN(const std::int64_t axis, AxisOf(context, 0));
  const auto parts = static_cast<std::int64_t>(context.node->outputs.size());
  const std::int64_t all = context.inputs[0]->shape[Size(axis)];
  Integers sizes(Size(parts), all / parts);
  if (context.Has(1)) {
    ASSIGN_OR_RETURN(sizes, context.ConstantIntegers(1));
  } else if (all % parts != 0) {
    return absl::InvalidArgumentError(fmt::format("{} elements in {} equal parts", all, parts));
  }
  if (std::ranges::any_of(sizes, [&](std::int64_t size) { return size < 0 || size > all; }) ||
      static_cast<std::int64_t>(sizes.size()) != parts ||
      std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != all) {
    return absl::InvalidArgumentError(fmt::format("the parts do not add up to {}", all));
  }
  std::vector<Spec> specs(sizes.size(), *context.inputs[0]);
  for (std::size_t i = 0; i < sizes.size(); ++i) specs[i].shape[Size(axis)] = sizes[i];
  return specs;
}

absl::Status RunSplit(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::int64_t axis, AxisOf(context, 0));
  const std::size_t all = BlockOf(*context.inputs[0], axis);
  std::size_t at = 0;
  for (const View& output : arguments.outputs) {
    const std::size_t block = BlockOf(*output.spec, axis);
    for (std::size_t i = 0; block > 0 && i < output.spec->bytes() / block; ++i) {
      std::copy_n(arguments.inputs[0].data + i * all + at, block, output.data + i * block);
    }
    at += block;
  }
  return absl::OkStatus();
}

Specs InferPad(const NodeContext& context) {
  ASSIGN_OR_RETURN(const std::string mode, context.attributes().Text("mode", "constant"));
  if (mode != "constant") return absl::InvalidArgumentError("mode must be constant");
  ASSIGN_OR_RETURN(const Integers pads, context.ConstantIntegers(1));
  Spec spec = *context.inputs[0];
  const std::size_t rank = spec.shape.size();
  const auto taken = [](std::int64_t pad) { return pad >= 0 && pad <= kMaxElements; };
  if (pads.size() != 2 * rank || !std::ranges::all_of(pads, taken)) {
    return absl::InvalidArgumentError("pads must be two numbers from 0 on for each dimension");
  }
  if (context.Has(2)) {
    RETURN_IF_ERROR(ExpectType(context, 2, spec.type));
    if (context.inputs[2]->elements() != 1) return absl::InvalidArgumentError("the padding is one number");
  }
  for (std::size_t d = 0; d < rank; ++d) spec.shape[d] += pads[d] + pads[rank + d];
  RETURN_IF_ERROR(ElementsOf(spec.shape).status());
  return std::vector<Spec>{std::move(spec)};
}

absl::Status RunPad(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Integers pads, context.ConstantIntegers(1));
  WithType(context.inputs[0]->type, [&](auto kind) {
    using T = decltype(kind);
    const std::span<T> to = arguments.outputs[0].As<T>();
    std::ranges::fill(to, context.Has(2) ? arguments.inputs[2].As<T>()[0] : T{});
    const Shape& shape = context.inputs[0]->shape;
    const Integers strides = StridesOf(arguments.outputs[0].spec->shape);
    const std::int64_t first =
        std::inner_product(strides.begin(), strides.end(), pads.begin(), std::int64_t{0});
    const std::span<const T> from = arguments.inputs[0].As<const T>();
    ForEachElement(shape, strides, first, [&](std::size_t i, std::size_t at) { to[at] = from[i]; });
  });
  return absl::OkStatus();
}

Specs InferGather(const NodeContext& context) {
  RETURN_IF_ERROR(ExpectType(context, 1, ElementType::kInt64));
  ASSIGN_OR_RETURN(const std::int64_t axis, AxisOf(context, 0));
  const Shape& from = context.inputs[0]->shape;
  Shape shape(from.begin(), from.begin() + axis);
  shape.insert(shape.end(), context.inputs[1]->shape.begin(), context.inputs[1]->shape.end());
  shape.insert(shape.end(), from.begin() + axis + 1, from.end());
  RETURN_IF_ERROR(ElementsOf(shape).status());
  return std::vector<Spec>{{context.inputs[0]->type, std::move(shape)}};
}

absl::Status RunGather(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::int64_t axis, AxisOf(context, 0));
  const std::size_t block = BlockOf(*context.inputs[0], axis + 1), whole = BlockOf(*context.inputs[0], axis);
  const std::int64_t size = context.inputs[0]->shape[Size(axis)];
  std::byte* to = arguments.outputs[0].data;
  for (std::size_t outer = 0; whole > 0 && outer < context.inputs[0]->bytes() / whole; ++outer) {
    for (const std::int64_t index : arguments.inputs[1].As<const std::int64_t>()) {
      if (index < -size || index >= size) {
        return absl::InvalidArgumentError(fmt::format("the index {} of {} elements", index, size));
      }
      const std::size_t place = Size(index < 0 ? index + size : index);
      to = std::copy_n(arguments.inputs[0].data + outer * whole + place * block, block, to);
    }
  }
  return absl::OkStatus();
}

constexpr std::size_t kManyParts = 1024;

constexpr Operation kLayouts[] = {
    {"Transpose", 1, 1, InferTranspose, RunTranspose},
    {"Expand", 2, 2, InferExpand, RunExpand},
    {"Slice", 3, 5, InferSlice, RunSlice},
    {"Concat", 1, kManyParts, InferConcat, RunConcat},
    {"Split", 1, 2, InferSplit, RunSplit},
    {"Pad", 2, 3, InferPad, RunPad},
    {"Gather", 2, 2, InferGather, RunGather},
};

}  // namespace

std::span<const Operation> LayoutOperations() { return kLayouts; }

}  // namespace tributary::graph
