// Products of bytes, with sums in int32 or requantised: what ONNX's integer operators define.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/graph/operation.h"
#include "core/graph/window.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

bool IsByteInput(const NodeContext& context, std::size_t input) {
  return context.Has(input) && (context.inputs[input]->type == ElementType::kInt8 ||
                                context.inputs[input]->type == ElementType::kUint8);
}

absl::Status ExpectBytes(const NodeContext& context, std::size_t input) {
  if (IsByteInput(context, input)) return absl::OkStatus();
  return absl::InvalidArgumentError(InputText(context, input) + " must be int8 or uint8");
}

// A scale or zero point: one, or as many as there are channels.
absl::Status ExpectEach(const NodeContext& context, std::size_t input, std::int64_t channels) {
  if (!context.Has(input)) return absl::OkStatus();
  const std::int64_t elements = context.inputs[input]->elements();
  if (context.inputs[input]->rank() <= 1 && (elements == 1 || elements == channels)) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} is {}; one element or {} are expected",
                                                InputText(context, input), context.inputs[input]->Text(),
                                                channels));
}

// Input `zero` has the type of input `of`.
absl::Status ExpectZero(const NodeContext& context, std::size_t zero, std::size_t of, std::int64_t channels) {
  if (!context.Has(zero)) return absl::OkStatus();
  RETURN_IF_ERROR(ExpectType(context, zero, context.inputs[of]->type));
  return ExpectEach(context, zero, channels);
}

std::int32_t ByteAt(const View& view, std::size_t i) {
  if (view.spec->type == ElementType::kInt8) return view.As<std::int8_t>()[i];
  return view.As<std::uint8_t>()[i];
}

// The integer of a channel; 0 if the input is absent.
std::int32_t ZeroAt(const Arguments& arguments, std::size_t input, std::size_t channel) {
  if (input >= arguments.inputs.size() || arguments.inputs[input].data == nullptr) return 0;
  const View& view = arguments.inputs[input];
  return ByteAt(view, view.spec->elements() == 1 ? 0 : channel);
}

double ScaleAt(const Arguments& arguments, std::size_t input, std::size_t channel) {
  const std::span<const float> scales = arguments.inputs[input].As<float>();
  return scales[scales.size() == 1 ? 0 : channel];
}

constexpr std::size_t kScales[] = {1, 4, 6};  // of QLinearConv and QLinearMatMul

absl::Status CheckScaleAt(const NodeContext& context, std::size_t input, std::span<const float> scales) {
  for (const float scale : scales) {
    if (scale > 0 && std::isfinite(scale)) continue;
    return absl::InvalidArgumentError(
        fmt::format("{}: a scale is {}; it must be above 0 and finite", InputText(context, input), scale));
  }
  return absl::OkStatus();
}

// Those that are known before the run are checked before it.
absl::Status ExpectScales(const NodeContext& context) {
  for (const std::size_t input : kScales) {
    RETURN_IF_ERROR(ExpectType(context, input, ElementType::kFloat32));
    if (context.constants[input] == nullptr) continue;
    RETURN_IF_ERROR(CheckScaleAt(context, input, context.constants[input]->As<float>()));
  }
  return absl::OkStatus();
}

absl::Status CheckRunScales(const NodeContext& context, const Arguments& arguments) {
  for (const std::size_t input : kScales) {
    RETURN_IF_ERROR(CheckScaleAt(context, input, arguments.inputs[input].As<float>()));
  }
  return absl::OkStatus();
}

void StoreLevel(double real, std::int32_t zero, const View& to, std::size_t i) {
  const double level = std::nearbyint(real) + zero;  // ties to even
  if (to.spec->type == ElementType::kInt8) {
    to.As<std::int8_t>()[i] = static_cast<std::int8_t>(std::clamp(level, -128.0, 127.0));
  } else {
    to.As<std::uint8_t>()[i] = static_cast<std::uint8_t>(std::clamp(level, 0.0, 255.0));
  }
}

// --- convolutions ---

// Where ConvInteger and QLinearConv have their inputs.
struct ConvolutionInputs {
  std::size_t weights, input_zero, weight_zero;
};
constexpr ConvolutionInputs kOfConvInteger = {1, 2, 3}, kOfQLinearConv = {3, 2, 5};

struct IntegerConvolution {
  Window window;
  std::int64_t groups = 1;
};

absl::StatusOr<IntegerConvolution> IntegerConvolutionOf(const NodeContext& context, std::size_t weights) {
  const Shape& shape = context.inputs[weights]->shape;
  if (shape.size() < 3) return absl::InvalidArgumentError("the weights have no window");
  IntegerConvolution convolution;
  ASSIGN_OR_RETURN(convolution.window, WindowOf(context, {shape.begin() + 2, shape.end()}));
  ASSIGN_OR_RETURN(convolution.groups, context.attributes().Integer("group", 1));
  if (convolution.groups < 1 || shape[1] < 1 ||
      context.inputs[0]->shape[1] != convolution.groups * shape[1] || shape[0] % convolution.groups != 0) {
    return absl::InvalidArgumentError("weights of " + TextOf(shape) + " do not fit the channels");
  }
  return convolution;
}

absl::StatusOr<Shape> IntegerConvolutionShape(const NodeContext& context, const ConvolutionInputs& inputs) {
  for (const std::size_t input : {std::size_t{0}, inputs.weights})
    RETURN_IF_ERROR(ExpectBytes(context, input));
  ASSIGN_OR_RETURN(const IntegerConvolution convolution, IntegerConvolutionOf(context, inputs.weights));
  const std::int64_t channels = context.inputs[inputs.weights]->shape[0];
  RETURN_IF_ERROR(ExpectZero(context, inputs.input_zero, 0, 1));
  RETURN_IF_ERROR(ExpectZero(context, inputs.weight_zero, inputs.weights, channels));
  Shape shape = {context.inputs[0]->shape[0], channels};
  shape.insert(shape.end(), convolution.window.output.begin(), convolution.window.output.end());
  RETURN_IF_ERROR(ElementsOf(shape).status());
  return shape;
}

// Calls take(channel, first element of the result, sums) for each channel of each image. Sums wrap around.
absl::Status ForEachChannelOfSums(const NodeContext& context, const Arguments& arguments,
                                  const ConvolutionInputs& inputs, const auto& take) {
  ASSIGN_OR_RETURN(const IntegerConvolution c, IntegerConvolutionOf(context, inputs.weights));
  const Shape& shape = context.inputs[inputs.weights]->shape;
  const std::size_t outputs = Size(shape[0]), channels = Size(shape[1]);
  const std::size_t taps = Size(c.window.taps()), pixels = Size(c.window.pixels()),
                    windows = Size(c.window.windows());
  const std::int64_t stride = c.window.stride.back();
  if (arguments.outputs[0].spec->elements() == 0) return absl::OkStatus();
  std::vector<std::uint32_t> sums(windows);
  const std::int32_t input_zero = ZeroAt(arguments, inputs.input_zero, 0);
  const std::size_t each = outputs / Size(c.groups);
  for (std::size_t image = 0; image < Size(context.inputs[0]->shape[0]); ++image) {
    for (std::size_t o = 0; o < outputs; ++o) {
      std::ranges::fill(sums, 0u);
      const std::int32_t weight_zero = ZeroAt(arguments, inputs.weight_zero, o);
      for (std::size_t i = 0; i < channels; ++i) {
        const std::size_t plane = (image * channels * Size(c.groups) + o / each * channels + i) * pixels;
        const std::size_t weights = (o * channels + i) * taps;
        WithType(context.inputs[0]->type, [&](auto kind) {
          const auto x = arguments.inputs[0].As<const decltype(kind)>().subspan(plane, pixels);
          ForEachRun(c.window, [&](std::int64_t w, std::int64_t t, std::int64_t pixel, std::int64_t count) {
            const std::int32_t weight =
                ByteAt(arguments.inputs[inputs.weights], weights + Size(t)) - weight_zero;
            for (std::int64_t n = 0; n < count; ++n) {
              const std::int32_t value = static_cast<std::int32_t>(x[Size(pixel + n * stride)]) - input_zero;
              sums[Size(w + n)] += static_cast<std::uint32_t>(weight * value);
            }
          });
        });
      }
      take(o, (image * outputs + o) * windows, sums);
    }
  }
  return absl::OkStatus();
}

template <const ConvolutionInputs& inputs>
std::int64_t ProductsOfIntegerConvolution(const NodeContext& context, const Spec& output) {
  const Spec& weights = *context.inputs[inputs.weights];
  return weights.shape[0] == 0 ? 0 : output.elements() * (weights.elements() / weights.shape[0]);
}

// The sums of a channel of an image.
template <const ConvolutionInputs& inputs>
std::int64_t ScratchOfIntegerConvolution(const NodeContext& context) {
  const absl::StatusOr<IntegerConvolution> convolution = IntegerConvolutionOf(context, inputs.weights);
  return convolution.ok() ? convolution->window.windows() : 0;
}

Specs InferConvInteger(const NodeContext& context) {
  ASSIGN_OR_RETURN(Shape shape, IntegerConvolutionShape(context, kOfConvInteger));
  return std::vector<Spec>{{ElementType::kInt32, std::move(shape)}};
}

absl::Status RunConvInteger(const NodeContext& context, const Arguments& arguments) {
  const std::span<std::int32_t> result = arguments.outputs[0].As<std::int32_t>();
  return ForEachChannelOfSums(context, arguments, kOfConvInteger,
                              [&](std::size_t, std::size_t first, const std::vector<std::uint32_t>& sums) {
                                std::ranges::transform(
                                    sums, result.begin() + static_cast<std::ptrdiff_t>(first),
                                    [](std::uint32_t sum) { return static_cast<std::int32_t>(sum); });
                              });
}

Specs InferQLinearConv(const NodeContext& context) {
  RETURN_IF_ERROR(ExpectScales(context));
  ASSIGN_OR_RETURN(Shape shape, IntegerConvolutionShape(context, kOfQLinearConv));
  const std::int64_t channels = shape[1];
  RETURN_IF_ERROR(ExpectBytes(context, 7));
  for (const std::size_t one : {1, 6, 7}) RETURN_IF_ERROR(ExpectEach(context, one, 1));
  RETURN_IF_ERROR(ExpectEach(context, 4, channels));
  if (context.Has(8)) {
    RETURN_IF_ERROR(ExpectType(context, 8, ElementType::kInt32));
    if (context.inputs[8]->shape != Shape{channels}) {
      return absl::InvalidArgumentError(fmt::format(
          "{} is {}; {} elements are expected", InputText(context, 8), context.inputs[8]->Text(), channels));
    }
  }
  return std::vector<Spec>{{context.inputs[7]->type, std::move(shape)}};
}

absl::Status RunQLinearConv(const NodeContext& context, const Arguments& arguments) {
  RETURN_IF_ERROR(CheckRunScales(context, arguments));
  const std::int32_t zero = ZeroAt(arguments, 7, 0);
  return ForEachChannelOfSums(
      context, arguments, kOfQLinearConv,
      [&](std::size_t o, std::size_t first, const std::vector<std::uint32_t>& sums) {
        const double factor = ScaleAt(arguments, 1, 0) * ScaleAt(arguments, 4, o) / ScaleAt(arguments, 6, 0);
        const std::uint32_t bias =
            context.Has(8) ? static_cast<std::uint32_t>(arguments.inputs[8].As<std::int32_t>()[o]) : 0;
        for (std::size_t w = 0; w < sums.size(); ++w) {
          StoreLevel(static_cast<std::int32_t>(sums[w] + bias) * factor, zero, arguments.outputs[0],
                     first + w);
        }
      });
}

// --- matrices ---

struct MatrixInputs {
  std::size_t right, left_zero, right_zero;
};
constexpr MatrixInputs kOfMatMulInteger = {1, 2, 3}, kOfQLinearMatMul = {3, 2, 5};

absl::StatusOr<Shape> IntegerProductShape(const NodeContext& context, const MatrixInputs& inputs) {
  for (const std::size_t input : {std::size_t{0}, inputs.right}) RETURN_IF_ERROR(ExpectBytes(context, input));
  const Shape& a = context.inputs[0]->shape;
  const Shape& b = context.inputs[inputs.right]->shape;
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) {
    return absl::InvalidArgumentError("the matrices " + TextOf(a) + " and " + TextOf(b) + " do not fit");
  }
  RETURN_IF_ERROR(ExpectZero(context, inputs.left_zero, 0, a[a.size() - 2]));
  RETURN_IF_ERROR(ExpectZero(context, inputs.right_zero, inputs.right, b.back()));
  ASSIGN_OR_RETURN(Shape shape, Broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2}));
  shape.push_back(a[a.size() - 2]);
  shape.push_back(b.back());
  RETURN_IF_ERROR(ElementsOf(shape).status());
  return shape;
}

// Calls take(row, column, element of the result, sum).
void ForEachSum(const NodeContext& context, const Arguments& arguments, const MatrixInputs& inputs,
                const auto& take) {
  const Shape& a = context.inputs[0]->shape;
  const Shape& b = context.inputs[inputs.right]->shape;
  const Shape& to = arguments.outputs[0].spec->shape;
  const Shape batch(to.begin(), to.end() - 2);
  const std::vector<std::int64_t> left = BroadcastStrides({a.begin(), a.end() - 2}, batch),
                                  right = BroadcastStrides({b.begin(), b.end() - 2}, batch),
                                  own = StridesOf(batch);
  const std::size_t rows = Size(a[a.size() - 2]), depth = Size(a.back()), columns = Size(b.back());
  std::size_t element = 0;
  for (std::int64_t m = 0; m < Spec{ElementType::kInt32, batch}.elements(); ++m) {
    std::int64_t at_left = 0, at_right = 0;
    for (std::size_t d = 0; d < batch.size(); ++d) {
      at_left += m / own[d] % batch[d] * left[d];
      at_right += m / own[d] % batch[d] * right[d];
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const std::int32_t left_zero = ZeroAt(arguments, inputs.left_zero, row);
      for (std::size_t column = 0; column < columns; ++column, ++element) {
        const std::int32_t right_zero = ZeroAt(arguments, inputs.right_zero, column);
        std::uint32_t sum = 0;
        for (std::size_t k = 0; k < depth; ++k) {
          const std::int32_t x =
              ByteAt(arguments.inputs[0], (Size(at_left) * rows + row) * depth + k) - left_zero;
          const std::int32_t y =
              ByteAt(arguments.inputs[inputs.right], (Size(at_right) * depth + k) * columns + column) -
              right_zero;
          sum += static_cast<std::uint32_t>(x * y);
        }
        take(row, column, element, static_cast<std::int32_t>(sum));
      }
    }
  }
}

std::int64_t ProductsOfIntegerMatrices(const NodeContext& context, const Spec& output) {
  return output.elements() * context.inputs[0]->shape.back();
}

Specs InferMatMulInteger(const NodeContext& context) {
  ASSIGN_OR_RETURN(Shape shape, IntegerProductShape(context, kOfMatMulInteger));
  return std::vector<Spec>{{ElementType::kInt32, std::move(shape)}};
}

absl::Status RunMatMulInteger(const NodeContext& context, const Arguments& arguments) {
  const std::span<std::int32_t> result = arguments.outputs[0].As<std::int32_t>();
  ForEachSum(context, arguments, kOfMatMulInteger,
             [&](std::size_t, std::size_t, std::size_t element, std::int32_t sum) { result[element] = sum; });
  return absl::OkStatus();
}

Specs InferQLinearMatMul(const NodeContext& context) {
  RETURN_IF_ERROR(ExpectScales(context));
  ASSIGN_OR_RETURN(Shape shape, IntegerProductShape(context, kOfQLinearMatMul));
  RETURN_IF_ERROR(ExpectBytes(context, 7));
  RETURN_IF_ERROR(ExpectEach(context, 1, shape[shape.size() - 2]));
  RETURN_IF_ERROR(ExpectEach(context, 4, shape.back()));
  for (const std::size_t one : {6, 7}) RETURN_IF_ERROR(ExpectEach(context, one, 1));
  return std::vector<Spec>{{context.inputs[7]->type, std::move(shape)}};
}

absl::Status RunQLinearMatMul(const NodeContext& context, const Arguments& arguments) {
  RETURN_IF_ERROR(CheckRunScales(context, arguments));
  const std::int32_t zero = ZeroAt(arguments, 7, 0);
  ForEachSum(context, arguments, kOfQLinearMatMul,
             [&](std::size_t row, std::size_t column, std::size_t element, std::int32_t sum) {
               const double factor =
                   ScaleAt(arguments, 1, row) * ScaleAt(arguments, 4, column) / ScaleAt(arguments, 6, 0);
               StoreLevel(sum * factor, zero, arguments.outputs[0], element);
             });
  return absl::OkStatus();
}

constexpr std::string_view kNamesOfConvInteger[] = {"x", "w", "x_zero_point", "w_zero_point"};
constexpr std::string_view kNamesOfQLinearConv[] = {
    "x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point", "B"};
constexpr std::string_view kNamesOfMatMulInteger[] = {"A", "B", "a_zero_point", "b_zero_point"};
constexpr std::string_view kNamesOfQLinearMatMul[] = {
    "a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "y_scale", "y_zero_point"};

constexpr Operation kIntegers[] = {
    {"ConvInteger", 2, 4, InferConvInteger, RunConvInteger, ProductsOfIntegerConvolution<kOfConvInteger>,
     ScratchOfIntegerConvolution<kOfConvInteger>, kNamesOfConvInteger},
    {"QLinearConv", 8, 9, InferQLinearConv, RunQLinearConv, ProductsOfIntegerConvolution<kOfQLinearConv>,
     ScratchOfIntegerConvolution<kOfQLinearConv>, kNamesOfQLinearConv},
    {"MatMulInteger", 2, 4, InferMatMulInteger, RunMatMulInteger, ProductsOfIntegerMatrices, nullptr,
     kNamesOfMatMulInteger},
    {"QLinearMatMul", 8, 8, InferQLinearMatMul, RunQLinearMatMul, ProductsOfIntegerMatrices, nullptr,
     kNamesOfQLinearMatMul},
};

}  // namespace

std::span<const Operation> IntegerOperations() { return kIntegers; }

}  // namespace tributary::graph
