// Sums, means and extremes over axes, and the norms that are made of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/operation.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

// Whether each dimension is reduced. Up to operator set 17 the axes are an attribute, of ReduceSum an input.
absl::StatusOr<std::vector<bool>> ReducedOf(const NodeContext& context) {
  Integers axes;
  bool given = context.attributes().Has("axes");
  if (context.Has(1)) {
    ASSIGN_OR_RETURN(axes, context.ConstantIntegers(1));
    given = !axes.empty();
  } else {
    ASSIGN_OR_RETURN(axes, context.attributes().Integers("axes", {}));
  }
  ASSIGN_OR_RETURN(const std::int64_t none, context.attributes().Integer("noop_with_empty_axes", 0));
  if (!given && none != 0) return std::vector<bool>(context.inputs[0]->shape.size());
  std::vector<bool> reduced(context.inputs[0]->shape.size(), !given);
  for (const std::int64_t axis : axes) {
    ASSIGN_OR_RETURN(const std::int64_t place, AxisOf(axis, context.inputs[0]->rank()));
    reduced[Size(place)] = true;
  }
  return reduced;
}

Specs InferReduce(const NodeContext& context) {
  RETURN_IF_ERROR(ExpectType(context, 0, ElementType::kFloat32));
  ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedOf(context));
  ASSIGN_OR_RETURN(const std::int64_t keep, context.attributes().Integer("keepdims", 1));
  Shape shape;
  for (std::size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) shape.push_back(context.inputs[0]->shape[d]);
    if (reduced[d] && keep != 0) shape.push_back(1);
  }
  return std::vector<Spec>{{ElementType::kFloat32, std::move(shape)}};
}

// Calls visit(element, place of the result) for each element.
void ForEachReduced(const Shape& shape, const std::vector<bool>& reduced, const auto& visit) {
  Shape kept = shape;
  for (std::size_t d = 0; d < kept.size(); ++d) kept[d] = reduced[d] ? 1 : kept[d];
  ForEachElement(shape, BroadcastStrides(kept, shape), 0, visit);
}

enum class Reduction { kSum, kMean, kLargest, kLeast, kProduct, kNorm1, kNorm2, kSquares };

template <Reduction kind>
absl::Status RunReduce(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedOf(context));
  const std::span<const float> x = arguments.inputs[0].As<float>();
  const std::span<float> y = arguments.outputs[0].As<float>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double start = kind == Reduction::kProduct   ? 1
                       : kind == Reduction::kLargest ? -kInfinity
                       : kind == Reduction::kLeast   ? kInfinity
                                                     : 0;
  std::vector<double> sums(y.size(), start);
  ForEachReduced(context.inputs[0]->shape, reduced, [&](std::size_t i, std::size_t at) {
    const double value = x[i];
    double& sum = sums[at];
    if constexpr (kind == Reduction::kLargest) {
      if (!(value <= sum)) sum = value;
    } else if constexpr (kind == Reduction::kLeast) {
      if (!(value >= sum)) sum = value;
    } else if constexpr (kind == Reduction::kProduct) {
      sum *= value;
    } else if constexpr (kind == Reduction::kNorm1) {
      sum += std::abs(value);
    } else if constexpr (kind == Reduction::kNorm2 || kind == Reduction::kSquares) {
      sum += value * value;
    } else {
      sum += value;
    }
  });
  const double count = y.empty() ? 1 : static_cast<double>(x.size()) / static_cast<double>(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    if constexpr (kind == Reduction::kMean) sums[i] /= count;
    if constexpr (kind == Reduction::kNorm2) sums[i] = std::sqrt(sums[i]);
    y[i] = static_cast<float>(sums[i]);
  }
  return absl::OkStatus();
}

// One axis as the middle of three dimensions.
struct Lines {
  std::size_t outer = 1, length = 1, inner = 1;
};

absl::StatusOr<Lines> LinesOf(const NodeContext& context, std::int64_t otherwise) {
  ASSIGN_OR_RETURN(const std::int64_t axis, AxisOf(context, otherwise));
  Lines lines;
  const Shape& shape = context.inputs[0]->shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto size = Size(shape[d]);
    if (d < Size(axis)) lines.outer *= size;
    if (d == Size(axis)) lines.length = size;
    if (d > Size(axis)) lines.inner *= size;
  }
  return lines;
}

Specs InferSoftmax(const NodeContext& context) {
  RETURN_IF_ERROR(ExpectType(context, 0, ElementType::kFloat32));
  RETURN_IF_ERROR(LinesOf(context, -1).status());
  return std::vector<Spec>{*context.inputs[0]};
}

template <bool logarithm>
absl::Status RunSoftmax(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(context, -1));
  const float* const x = arguments.inputs[0].As<float>().data();
  float* const y = arguments.outputs[0].As<float>().data();
  for (std::size_t line = 0; line < lines.outer * lines.inner; ++line) {
    const std::size_t first = line / lines.inner * lines.length * lines.inner + line % lines.inner;
    const auto at = [&](std::size_t k) { return first + k * lines.inner; };
    float top = -std::numeric_limits<float>::infinity();
    for (std::size_t k = 0; k < lines.length; ++k) top = std::max(top, x[at(k)]);
    double total = 0;
    for (std::size_t k = 0; k < lines.length; ++k) total += std::exp(static_cast<double>(x[at(k)]) - top);
    const double shift = top + std::log(total);
    for (std::size_t k = 0; k < lines.length; ++k) {
      const double value = x[at(k)] - shift;
      y[at(k)] = static_cast<float>(logarithm ? value : std::exp(value));
    }
  }
  return absl::OkStatus();
}

Specs InferArgMax(const NodeContext& context) {
  RETURN_IF_ERROR(ExpectType(context, 0, ElementType::kFloat32));
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(context, 0));
  if (lines.length == 0) return absl::InvalidArgumentError("the largest of no element");
  ASSIGN_OR_RETURN(const std::int64_t axis, AxisOf(context, 0));
  ASSIGN_OR_RETURN(const std::int64_t keep, context.attributes().Integer("keepdims", 1));
  Shape shape = context.inputs[0]->shape;
  const auto place = shape.begin() + axis;
  if (keep != 0) {
    *place = 1;
  } else {
    shape.erase(place);
  }
  return std::vector<Spec>{{ElementType::kInt64, std::move(shape)}};
}

template <int sign>
absl::Status RunArgMax(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(context, 0));
  ASSIGN_OR_RETURN(const std::int64_t last, context.attributes().Integer("select_last_index", 0));
  const std::span<const float> x = arguments.inputs[0].As<float>();
  const std::span<std::int64_t> y = arguments.outputs[0].As<std::int64_t>();
  for (std::size_t line = 0; line < y.size(); ++line) {
    const std::size_t first = line / lines.inner * lines.length * lines.inner + line % lines.inner;
    std::size_t best = 0;
    for (std::size_t k = 1; k < lines.length; ++k) {
      const float more = sign * (x[first + k * lines.inner] - x[first + best * lines.inner]);
      if (more > 0 || (last != 0 && more == 0)) best = k;
    }
    y[line] = static_cast<std::int64_t>(best);
  }
  return absl::OkStatus();
}

Specs InferBatchNorm(const NodeContext& context) {
  const Shape& shape = context.inputs[0]->shape;
  ASSIGN_OR_RETURN(const std::int64_t training, context.attributes().Integer("training_mode", 0));
  if (training != 0) return absl::InvalidArgumentError("training_mode must be 0");
  if (shape.size() < 2) return absl::InvalidArgumentError("an input " + TextOf(shape) + " has no channels");
  for (std::size_t i = 0; i < context.count(); ++i) {
    RETURN_IF_ERROR(ExpectType(context, i, ElementType::kFloat32));
    if (i > 0 && context.inputs[i]->shape != Shape{shape[1]}) {
      return absl::InvalidArgumentError(fmt::format("input {} is not a number for each channel", i));
    }
  }
  return std::vector<Spec>{*context.inputs[0]};
}

absl::Status RunBatchNorm(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const float epsilon, context.attributes().Real("epsilon", 1e-5f));
  const std::span<const float> x = arguments.inputs[0].As<float>();
  const std::span<float> y = arguments.outputs[0].As<float>();
  const auto of_channel = [&](std::size_t input, std::size_t channel) {
    return arguments.inputs[input].As<float>()[channel];
  };
  const Shape& shape = context.inputs[0]->shape;
  const auto channels = Size(shape[1]);
  if (x.empty()) return absl::OkStatus();
  const std::size_t pixels = x.size() / (Size(shape[0]) * channels);
  for (std::size_t plane = 0; plane < Size(shape[0]) * channels; ++plane) {
    const std::size_t c = plane % channels;
    const float factor = of_channel(1, c) / std::sqrt(of_channel(4, c) + epsilon);
    const float term = of_channel(2, c) - of_channel(3, c) * factor;
    for (std::size_t i = plane * pixels; i < (plane + 1) * pixels; ++i) y[i] = x[i] * factor + term;
  }
  return absl::OkStatus();
}

// Mean and deviation over the dimensions from `axis` on.
Specs InferLayerNorm(const NodeContext& context) {
  const Shape& shape = context.inputs[0]->shape;
  ASSIGN_OR_RETURN(const std::int64_t axis, AxisOf(context, -1));
  ASSIGN_OR_RETURN(const std::int64_t stash, context.attributes().Integer("stash_type", 1));
  if (stash != 1) return absl::InvalidArgumentError("stash_type must be 1, float32");
  for (std::size_t i = 0; i < context.count(); ++i) {
    RETURN_IF_ERROR(ExpectType(context, i, ElementType::kFloat32));
    if (i == 0) continue;
    // Scale and bias are repeated to the dimensions that are normalised.
    const Shape normalised(shape.begin() + axis, shape.end());
    ASSIGN_OR_RETURN(const Shape both, Broadcast(context.inputs[i]->shape, normalised));
    if (both != normalised) return absl::InvalidArgumentError(fmt::format("input {} does not fit", i));
  }
  Shape means = shape;
  std::fill(means.begin() + axis, means.end(), 1);
  const Spec mean{ElementType::kFloat32, means};
  return std::vector<Spec>{*context.inputs[0], mean, mean};
}

absl::Status RunLayerNorm(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const float epsilon, context.attributes().Real("epsilon", 1e-5f));
  ASSIGN_OR_RETURN(const std::int64_t axis, AxisOf(context, -1));
  const std::span<const float> x = arguments.inputs[0].As<float>();
  const std::span<float> y = arguments.outputs[0].As<float>();
  if (x.empty()) return absl::OkStatus();
  const Shape& shape = context.inputs[0]->shape;
  const Shape normalised(shape.begin() + axis, shape.end());
  const std::vector<std::int64_t> own = StridesOf(normalised);
  const std::size_t length = Size(Spec{ElementType::kFloat32, normalised}.elements());
  std::vector<std::int64_t> strides[3];
  for (const std::size_t input : {1, 2}) {
    if (context.Has(input)) strides[input] = BroadcastStrides(context.inputs[input]->shape, normalised);
  }
  const auto at = [&](std::size_t input, std::size_t i) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < own.size(); ++d) {
      place += static_cast<std::int64_t>(i) / own[d] % normalised[d] * strides[input][d];
    }
    return arguments.inputs[input].As<float>()[Size(place)];
  };
  for (std::size_t line = 0; line * length < x.size(); ++line) {
    const std::span<const float> values = x.subspan(line * length, length);
    double mean = 0, variance = 0;
    for (const float value : values) mean += value;
    mean /= static_cast<double>(length);
    for (const float value : values) variance += (value - mean) * (value - mean);
    const double inverse = 1 / std::sqrt(variance / static_cast<double>(length) + epsilon);
    for (std::size_t i = 0; i < length; ++i) {
      const auto unit = static_cast<float>((values[i] - mean) * inverse);
      y[line * length + i] = unit * at(1, i) + (context.Has(2) ? at(2, i) : 0.0f);
    }
    if (arguments.outputs.size() > 1) arguments.outputs[1].As<float>()[line] = static_cast<float>(mean);
    if (arguments.outputs.size() > 2) arguments.outputs[2].As<float>()[line] = static_cast<float>(inverse);
  }
  return absl::OkStatus();
}

constexpr Operation kReductions[] = {
    {"ReduceSum", 1, 2, InferReduce, RunReduce<Reduction::kSum>},
    {"ReduceMean", 1, 2, InferReduce, RunReduce<Reduction::kMean>},
    {"ReduceMax", 1, 2, InferReduce, RunReduce<Reduction::kLargest>},
    {"ReduceMin", 1, 2, InferReduce, RunReduce<Reduction::kLeast>},
    {"ReduceProd", 1, 2, InferReduce, RunReduce<Reduction::kProduct>},
    {"ReduceL1", 1, 2, InferReduce, RunReduce<Reduction::kNorm1>},
    {"ReduceL2", 1, 2, InferReduce, RunReduce<Reduction::kNorm2>},
    {"ReduceSumSquare", 1, 2, InferReduce, RunReduce<Reduction::kSquares>},
    {"Softmax", 1, 1, InferSoftmax, RunSoftmax<false>},
    {"LogSoftmax", 1, 1, InferSoftmax, RunSoftmax<true>},
    {"ArgMax", 1, 1, InferArgMax, RunArgMax<1>},
    {"ArgMin", 1, 1, InferArgMax, RunArgMax<-1>},
    {"BatchNormalization", 5, 5, InferBatchNorm, RunBatchNorm},
    {"LayerNormalization", 2, 3, InferLayerNorm, RunLayerNorm},
};

}  // namespace

std::span<const Operation> ReductionOperations() { return kReductions; }

}  // namespace tributary::graph
