// Pools: the largest or the mean of each window, or of a whole image.
#include <algorithm>
#include <limits>

#include "core/graph/operation.h"
#include "core/graph/window.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

absl::StatusOr<Window> PoolOf(const NodeContext& context) {
  if (!context.attributes().Has("kernel_shape")) return absl::InvalidArgumentError("kernel_shape is missing");
  ASSIGN_OR_RETURN(const std::vector<std::int64_t> size, context.attributes().Integers("kernel_shape", {}));
  ASSIGN_OR_RETURN(const std::int64_t ceiling, context.attributes().Integer("ceil_mode", 0));
  return WindowOf(context, size, ceiling != 0);
}

Specs InferPool(const NodeContext& context) {
  ASSIGN_OR_RETURN(const std::int64_t column_major, context.attributes().Integer("storage_order", 0));
  if (column_major != 0) return absl::InvalidArgumentError("storage_order must be 0");
  ASSIGN_OR_RETURN(const Window window, PoolOf(context));
  Shape shape = {context.inputs[0]->shape[0], context.inputs[0]->shape[1]};
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  RETURN_IF_ERROR(ElementsOf(shape).status());
  return std::vector<Spec>{{context.inputs[0]->type, shape}};
}

Specs InferAveragePool(const NodeContext& context) {
  RETURN_IF_ERROR(ExpectType(context, 0, ElementType::kFloat32));
  return InferPool(context);
}

Specs InferMaxPool(const NodeContext& context) {
  const ElementType type = context.inputs[0]->type;
  if (type != ElementType::kInt8 && type != ElementType::kUint8) {
    RETURN_IF_ERROR(ExpectType(context, 0, ElementType::kFloat32));
  }
  return InferPool(context);
}

std::int64_t ProductsOfPool(const NodeContext& context, const Spec& output) {
  const absl::StatusOr<Window> window = PoolOf(context);
  return window.ok() ? window->taps() * output.elements() : 0;
}

// Calls act(image, result) for each channel of each image.
template <class T = float>
void ForEachPlane(const Arguments& arguments, std::size_t pixels, std::size_t results, const auto& act) {
  const Shape& shape = arguments.inputs[0].spec->shape;
  const std::span<const T> images = arguments.inputs[0].As<const T>();
  const std::span<T> all = arguments.outputs[0].As<T>();
  for (std::size_t plane = 0; plane < static_cast<std::size_t>(shape[0] * shape[1]); ++plane) {
    act(images.subspan(plane * pixels, pixels), all.subspan(plane * results, results));
  }
}

// A window without a pixel gives the least value.
template <class T>
void LargestOfWindows(const Window& window, const Arguments& arguments) {
  using Limits = std::numeric_limits<T>;
  constexpr T kLeast = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  ForEachPlane<T>(arguments, Size(window.pixels()), Size(window.windows()),
                  [&](std::span<const T> image, std::span<T> result) {
                    std::ranges::fill(result, kLeast);
                    ForEachTap(window, [&](std::int64_t w, std::int64_t, std::int64_t pixel) {
                      T& largest = result[Size(w)];
                      const T value = image[Size(pixel)];
                      if (!(value <= largest)) largest = value;
                    });
                  });
}

absl::Status RunMaxPool(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Window window, PoolOf(context));
  switch (context.inputs[0]->type) {
    case ElementType::kInt8:
      LargestOfWindows<std::int8_t>(window, arguments);
      break;
    case ElementType::kUint8:
      LargestOfWindows<std::uint8_t>(window, arguments);
      break;
    default:
      LargestOfWindows<float>(window, arguments);
  }
  return absl::OkStatus();
}

// With count_include_pad, padding counts as zeros; what hangs over the padding does not count.
std::vector<float> TapsOf(const Window& window, bool with_padding) {
  std::vector<float> taps(static_cast<std::size_t>(window.windows()));
  Window counted = window;
  if (with_padding) {
    for (std::size_t d = 0; d < window.size.size(); ++d) {
      counted.input[d] += window.before[d] + window.after[d];
      counted.before[d] = 0;
    }
  }
  ForEachTap(counted,
             [&](std::int64_t w, std::int64_t, std::int64_t) { taps[static_cast<std::size_t>(w)] += 1; });
  return taps;
}

absl::Status RunAveragePool(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Window window, PoolOf(context));
  ASSIGN_OR_RETURN(const std::int64_t with_padding, context.attributes().Integer("count_include_pad", 0));
  const std::vector<float> taps = TapsOf(window, with_padding != 0);
  ForEachPlane(arguments, static_cast<std::size_t>(window.pixels()), taps.size(),
               [&](std::span<const float> image, std::span<float> result) {
                 std::ranges::fill(result, 0.0f);
                 ForEachTap(window, [&](std::int64_t w, std::int64_t, std::int64_t pixel) {
                   result[static_cast<std::size_t>(w)] += image[static_cast<std::size_t>(pixel)];
                 });
                 for (std::size_t w = 0; w < taps.size(); ++w) result[w] /= taps[w];
               });
  return absl::OkStatus();
}

Specs InferGlobal(const NodeContext& context) {
  RETURN_IF_ERROR(ExpectType(context, 0, ElementType::kFloat32));
  Shape shape = context.inputs[0]->shape;
  if (shape.size() < 3) return absl::InvalidArgumentError("an input " + TextOf(shape) + " is no image");
  if (context.inputs[0]->elements() == 0) return absl::InvalidArgumentError("an image without a pixel");
  std::fill(shape.begin() + 2, shape.end(), 1);
  return std::vector<Spec>{{ElementType::kFloat32, shape}};
}

std::size_t PixelsOf(const NodeContext& context) {
  const Shape& shape = context.inputs[0]->shape;
  return static_cast<std::size_t>(context.inputs[0]->elements() / (shape[0] * shape[1]));
}

absl::Status RunGlobalAverage(const NodeContext& context, const Arguments& arguments) {
  ForEachPlane(arguments, PixelsOf(context), 1, [](std::span<const float> image, std::span<float> result) {
    double sum = 0;
    for (const float value : image) sum += value;
    result[0] = static_cast<float>(sum / static_cast<double>(image.size()));
  });
  return absl::OkStatus();
}

absl::Status RunGlobalMax(const NodeContext& context, const Arguments& arguments) {
  ForEachPlane(arguments, PixelsOf(context), 1, [](std::span<const float> image, std::span<float> result) {
    result[0] = std::ranges::max(image);
  });
  return absl::OkStatus();
}

constexpr Operation kPools[] = {
    {"MaxPool", 1, 1, InferMaxPool, RunMaxPool, ProductsOfPool},
    {"AveragePool", 1, 1, InferAveragePool, RunAveragePool, ProductsOfPool},
    {"GlobalAveragePool", 1, 1, InferGlobal, RunGlobalAverage},
    {"GlobalMaxPool", 1, 1, InferGlobal, RunGlobalMax},
};

}  // namespace

std::span<const Operation> PoolingOperations() { return kPools; }

}  // namespace tributary::graph
