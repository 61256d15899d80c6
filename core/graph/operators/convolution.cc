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

std::int64_t ScratchOfConv(const NodeContext& context) {
  const absl::StatusOr<Convolution> convolution = ConvolutionOf(context);
  return convolution.ok() ? convolution->inputs * convolution->window.taps() * convolution->window.windows()
                          : 0;
}

absl::Status RunConv(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Convolution c, ConvolutionOf(context));
  const auto taps = static_cast<std::size_t>(c.window.taps()),
             windows = static_cast<std::size_t>(c.window.windows());
  const auto pixels = static_cast<std::size_t>(c.window.pixels());
  const auto inputs = static_cast<std::size_t>(c.inputs), outputs = static_cast<std::size_t>(c.outputs);
  const std::size_t depth = inputs * taps;
  const std::int64_t stride = c.window.stride.back();
  const float* image = arguments.inputs[0].As<float>().data();
  float* result = arguments.outputs[0].As<float>().data();
  if (arguments.outputs[0].spec->elements() == 0) return absl::OkStatus();
  std::vector<float>& columns = arguments.scratch->columns;
  columns.resize(std::max(columns.size(), depth * windows));
  for (std::int64_t n = 0; n < context.inputs[0]->shape[0]; ++n) {
    for (std::int64_t group = 0; group < c.groups; ++group) {
      std::fill_n(columns.begin(), depth * windows, 0.0f);
      for (std::size_t channel = 0; channel < inputs; ++channel) {
        float* const rows = columns.data() + channel * taps * windows;
        const float* const plane = image + channel * pixels;
        ForEachRun(c.window, [&](std::int64_t w, std::int64_t t, std::int64_t pixel, std::int64_t count) {
          float* const to = rows + Size(t) * windows + Size(w);
          const float* const from = plane + pixel;
          if (stride == 1) {
            std::copy_n(from, count, to);
          } else {
            for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
          }
        });
      }
      const float* const weights =
          arguments.inputs[1].As<float>().data() + static_cast<std::size_t>(group) * outputs * depth;
      arguments.scratch->gemm.Multiply(nn::RowMajor(weights, outputs, depth),
                                       nn::RowMajor(columns.data(), depth, windows), result);
      for (std::size_t o = 0; context.Has(2) && o < outputs; ++o) {
        const float bias = arguments.inputs[2].As<float>()[static_cast<std::size_t>(group) * outputs + o];
        for (std::size_t w = 0; w < windows; ++w) result[o * windows + w] += bias;
      }
      image += inputs * pixels;
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
