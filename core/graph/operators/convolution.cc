// Convolutions, by a product with the columns of all windows (im2col).
#include <algorithm>

#include "core/graph/operation.h"
#include "core/graph/window.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

struct Convolution {
  Window window;
  std::int64_t groups = 1, inputs = 0, outputs = 0;  // channels of a group
};

absl::StatusOr<Convolution> ConvolutionOf(const NodeContext& context) {
  const Shape& weights = context.inputs[1]->shape;
  if (weights.size() < 3) return absl::InvalidArgumentError("the weights have no window");
  Convolution convolution;
  ASSIGN_OR_RETURN(convolution.window, WindowOf(context, {weights.begin() + 2, weights.end()}));
  ASSIGN_OR_RETURN(convolution.groups, context.attributes().Integer("group", 1));
  const std::int64_t channels = context.inputs[0]->shape[1];
  if (convolution.groups < 1 || weights[1] < 1 || channels != convolution.groups * weights[1] ||
      weights[0] % convolution.groups != 0) {
    return absl::InvalidArgumentError("weights of " + TextOf(weights) + " do not fit " +
                                      std::to_string(channels) + " channels in " +
                                      std::to_string(convolution.groups) + " groups");
  }
  convolution.inputs = weights[1];
  convolution.outputs = weights[0] / convolution.groups;
  return convolution;
}

Specs InferConv(const NodeContext& context) {
  for (const std::size_t i : {0, 1}) RETURN_IF_ERROR(ExpectType(context, i, ElementType::kFloat32));
  ASSIGN_OR_RETURN(const Convolution convolution, ConvolutionOf(context));
  const std::int64_t outputs = context.inputs[1]->shape[0];
  if (context.Has(2)) {
    RETURN_IF_ERROR(ExpectType(context, 2, ElementType::kFloat32));
    if (context.inputs[2]->shape != Shape{outputs}) {
      return absl::InvalidArgumentError("a bias for each output channel is expected");
    }
  }
  Shape shape = {context.inputs[0]->shape[0], outputs};
  shape.insert(shape.end(), convolution.window.output.begin(), convolution.window.output.end());
  RETURN_IF_ERROR(ElementsOf(shape).status());
  // The columns of a group are counted as memory, and must be countable.
  RETURN_IF_ERROR(
      ElementsOf({convolution.inputs, convolution.window.taps(), convolution.window.windows()}).status());
  return std::vector<Spec>{{ElementType::kFloat32, shape}};
}

// Windows of one pixel, each pixel once: the image itself is the columns.
bool IsPointwise(const Convolution& c) {
  return c.window.taps() == 1 && c.window.input == c.window.output &&
         std::ranges::all_of(c.window.stride, [](std::int64_t stride) { return stride == 1; });
}

std::int64_t ScratchOfConv(const NodeContext& context) {
  const absl::StatusOr<Convolution> convolution = ConvolutionOf(context);
  if (!convolution.ok() || convolution->inputs == 1 || IsPointwise(*convolution)) return 0;
  return convolution->inputs * convolution->window.taps() * convolution->window.windows();
}

// columns [taps × windows] of a channel; zeros stand where a window lies outside of the image.
void GatherColumns(const Window& window, const float* plane, float* columns) {
  const std::size_t windows = Size(window.windows());
  const std::int64_t stride = window.stride.back();
  std::fill_n(columns, Size(window.taps()) * windows, 0.0f);
  ForEachRun(window, [&](std::int64_t w, std::int64_t t, std::int64_t pixel, std::int64_t count) {
    float* const to = columns + Size(t) * windows + Size(w);
    const float* const from = plane + pixel;
    if (stride == 1) {
      std::copy_n(from, count, to);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
    }
  });
}

// One channel in: each tap adds its multiple of the image's rows. A product of so few rows would cost more in
// columns than in sums.
void ConvolveChannel(const Window& window, const float* plane, const float* weights, float* result) {
  const std::int64_t stride = window.stride.back();
  std::fill_n(result, Size(window.windows()), 0.0f);
  ForEachRun(window, [&](std::int64_t w, std::int64_t t, std::int64_t pixel, std::int64_t count) {
    float* const to = result + w;
    const float* const from = plane + pixel;
    const float weight = weights[t];
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) to[i] += weight * from[i];
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] += weight * from[i * stride];
    }
  });
}

// The channels out of one group, [outputs × windows].
void ConvolveGroup(const Convolution& c, const float* image, const float* weights, Scratch& scratch,
                   float* result) {
  const std::size_t taps = Size(c.window.taps()), windows = Size(c.window.windows());
  const std::size_t inputs = Size(c.inputs), outputs = Size(c.outputs);
  if (inputs == 1) {
    for (std::size_t o = 0; o < outputs; ++o) {
      ConvolveChannel(c.window, image, weights + o * taps, result + o * windows);
    }
    return;
  }
  const float* columns = image;
  if (!IsPointwise(c)) {
    scratch.columns.resize(std::max(scratch.columns.size(), inputs * taps * windows));
    for (std::size_t channel = 0; channel < inputs; ++channel) {
      GatherColumns(c.window, image + channel * Size(c.window.pixels()),
                    scratch.columns.data() + channel * taps * windows);
    }
    columns = scratch.columns.data();
  }
  scratch.gemm.Multiply(nn::RowMajor(weights, outputs, inputs * taps),
                        nn::RowMajor(columns, inputs * taps, windows), result);
}

absl::Status RunConv(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Convolution c, ConvolutionOf(context));
  const std::size_t windows = Size(c.window.windows()), outputs = Size(c.outputs);
  const std::size_t depth = Size(c.inputs * c.window.taps());
  const float* image = arguments.inputs[0].As<float>().data();
  float* result = arguments.outputs[0].As<float>().data();
  if (arguments.outputs[0].spec->elements() == 0) return absl::OkStatus();
  for (std::int64_t n = 0; n < context.inputs[0]->shape[0]; ++n) {
    for (std::size_t group = 0; group < Size(c.groups); ++group) {
      const float* const weights = arguments.inputs[1].As<float>().data() + group * outputs * depth;
      ConvolveGroup(c, image, weights, *arguments.scratch, result);
      for (std::size_t o = 0; context.Has(2) && o < outputs; ++o) {
        const float bias = arguments.inputs[2].As<float>()[group * outputs + o];
        for (std::size_t w = 0; w < windows; ++w) result[o * windows + w] += bias;
      }
      image += c.inputs * c.window.pixels();
      result += outputs * windows;
    }
  }
  return absl::OkStatus();
}

std::int64_t ProductsOfConv(const NodeContext& context, const Spec& output) {
  const Spec& weights = *context.inputs[1];
  return weights.shape[0] == 0 ? 0 : output.elements() * (weights.elements() / weights.shape[0]);
}

constexpr Operation kConvolutions[] = {
    {"Conv", 2, 3, InferConv, RunConv, ProductsOfConv, ScratchOfConv},
};

}  // namespace

std::span<const Operation> ConvolutionOperations() { return kConvolutions; }

}  // namespace tributary::graph
