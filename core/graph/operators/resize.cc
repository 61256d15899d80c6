// Images of other sizes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/graph/operation.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

// Which place of the input a place of the output has, along one dimension.
struct Scaling {
  std::int64_t input = 0, output = 0;
  double scale = 1;  // output / input, as the graph says it
};

enum class Coordinates { kHalfPixel, kPytorchHalfPixel, kAlignCorners, kAsymmetric };
enum class Nearest { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };

struct Resizing {
  std::vector<Scaling> dimensions;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Nearest nearest = Nearest::kRoundPreferFloor;
};

template <class Kind>
absl::StatusOr<Kind> ChoiceOf(const NodeContext& context, std::string_view name, std::string otherwise,
                              std::initializer_list<std::pair<std::string_view, Kind>> known) {
  ASSIGN_OR_RETURN(const std::string text, context.attributes().Text(name, std::move(otherwise)));
  for (const auto& [word, kind] : known) {
    if (word == text) return kind;
  }
  return absl::InvalidArgumentError(fmt::format("{} \"{}\" is not taken", name, text));
}

absl::StatusOr<std::vector<Scaling>> ScalingsOf(const NodeContext& context) {
  const Shape& shape = context.inputs[0]->shape;
  const auto given = [&](std::size_t input) {
    return context.Has(input) && context.inputs[input]->elements() > 0;
  };
  if (given(2) == given(3)) return absl::InvalidArgumentError("give either scales or sizes");
  std::vector<Scaling> scalings;
  if (given(3)) {
    ASSIGN_OR_RETURN(const Integers sizes, context.ConstantIntegers(3));
    if (sizes.size() != shape.size())
      return absl::InvalidArgumentError("a size for each dimension is expected");
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] < 1 || sizes[d] < 1) return absl::InvalidArgumentError("a dimension is empty");
      scalings.push_back({shape[d], sizes[d], static_cast<double>(sizes[d]) / static_cast<double>(shape[d])});
    }
    return scalings;
  }
  RETURN_IF_ERROR(ExpectType(context, 2, ElementType::kFloat32));
  if (context.constants[2] == nullptr) return absl::InvalidArgumentError("the scales must be constant");
  const std::span<const float> scales = context.constants[2]->As<float>();
  if (scales.size() != shape.size())
    return absl::InvalidArgumentError("a scale for each dimension is expected");
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const double size = std::floor(static_cast<double>(shape[d]) * scales[d]);
    if (!(size >= 1 && size <= static_cast<double>(kMaxElements))) {
      return absl::InvalidArgumentError(
          fmt::format("the scale {} of a dimension of {}", scales[d], shape[d]));
    }
    scalings.push_back({shape[d], static_cast<std::int64_t>(size), scales[d]});
  }
  return scalings;
}

absl::StatusOr<Resizing> ResizingOf(const NodeContext& context) {
  Resizing resizing;
  ASSIGN_OR_RETURN(const std::string mode, context.attributes().Text("mode", "nearest"));
  if (mode != "nearest") return absl::InvalidArgumentError("only the mode nearest is taken");
  ASSIGN_OR_RETURN(resizing.coordinates,
                   ChoiceOf<Coordinates>(context, "coordinate_transformation_mode", "half_pixel",
                                         {{"half_pixel", Coordinates::kHalfPixel},
                                          {"pytorch_half_pixel", Coordinates::kPytorchHalfPixel},
                                          {"align_corners", Coordinates::kAlignCorners},
                                          {"asymmetric", Coordinates::kAsymmetric}}));
  ASSIGN_OR_RETURN(resizing.nearest, ChoiceOf<Nearest>(context, "nearest_mode", "round_prefer_floor",
                                                       {{"round_prefer_floor", Nearest::kRoundPreferFloor},
                                                        {"round_prefer_ceil", Nearest::kRoundPreferCeil},
                                                        {"floor", Nearest::kFloor},
                                                        {"ceil", Nearest::kCeil}}));
  ASSIGN_OR_RETURN(resizing.dimensions, ScalingsOf(context));
  return resizing;
}

std::size_t SourceOf(const Resizing& resizing, const Scaling& scaling, std::int64_t at) {
  const auto place = static_cast<double>(at);
  double source = 0;
  switch (resizing.coordinates) {
    case Coordinates::kPytorchHalfPixel:
      source = scaling.output > 1 ? (place + 0.5) / scaling.scale - 0.5 : 0;
      break;
    case Coordinates::kHalfPixel:
      source = (place + 0.5) / scaling.scale - 0.5;
      break;
    case Coordinates::kAlignCorners:
      source = scaling.output > 1
                   ? place * static_cast<double>(scaling.input - 1) / static_cast<double>(scaling.output - 1)
                   : 0;
      break;
    case Coordinates::kAsymmetric:
      source = place / scaling.scale;
      break;
  }
  switch (resizing.nearest) {
    case Nearest::kRoundPreferFloor:
      source = std::ceil(source - 0.5);
      break;
    case Nearest::kRoundPreferCeil:
      source = std::floor(source + 0.5);
      break;
    case Nearest::kFloor:
      source = std::floor(source);
      break;
    case Nearest::kCeil:
      source = std::ceil(source);
      break;
  }
  return static_cast<std::size_t>(std::clamp(source, 0.0, static_cast<double>(scaling.input - 1)));
}

Specs InferResize(const NodeContext& context) {
  ASSIGN_OR_RETURN(const Resizing resizing, ResizingOf(context));
  Shape shape;
  for (const Scaling& scaling : resizing.dimensions) shape.push_back(scaling.output);
  RETURN_IF_ERROR(ElementsOf(shape).status());
  return std::vector<Spec>{{context.inputs[0]->type, std::move(shape)}};
}

absl::Status RunResize(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Resizing resizing, ResizingOf(context));
  const std::vector<std::int64_t> strides = StridesOf(context.inputs[0]->shape);
  const std::size_t bytes = SizeOf(context.inputs[0]->type), dimensions = strides.size();
  std::vector<std::int64_t> index(dimensions);
  const std::int64_t elements = arguments.outputs[0].spec->elements();
  for (std::int64_t i = 0; i < elements; ++i) {
    std::size_t at = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
      at += SourceOf(resizing, resizing.dimensions[d], index[d]) * Size(strides[d]);
    }
    std::copy_n(arguments.inputs[0].data + at * bytes, bytes, arguments.outputs[0].data + Size(i) * bytes);
    Advance(index, arguments.outputs[0].spec->shape);
  }
  return absl::OkStatus();
}

constexpr Operation kResizings[] = {
    {"Resize", 1, 4, InferResize, RunResize},
};

}  // namespace

std::span<const Operation> ResizeOperations() { return kResizings; }

}  // namespace tributary::graph
