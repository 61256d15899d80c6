#include "core/graph/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "core/status/macros.h"

namespace tributary::graph {
namespace {

std::int64_t ExtentsProduct(const Integers& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{1}, std::multiplies<>());
}

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;

// As many as there are dimensions, each within the limits.
absl::StatusOr<Integers> ReadNumbers(const NodeContext& context, std::string_view name, std::size_t count,
                                     std::int64_t otherwise, std::int64_t least) {
  ASSIGN_OR_RETURN(Integers values, context.attributes().Integers(name, Integers(count, otherwise)));
  const auto within = [&](std::int64_t value) { return value >= least && value <= kMaxExtent; };
  if (values.size() == count && std::ranges::all_of(values, within)) return values;
  return absl::InvalidArgumentError(fmt::format("{} must be {} numbers from {} on", name, count, least));
}

}  // namespace

std::int64_t Window::taps() const { return ExtentsProduct(size); }
std::int64_t Window::windows() const { return ExtentsProduct(output); }
std::int64_t Window::pixels() const { return ExtentsProduct(input); }

absl::StatusOr<Window> WindowOf(const NodeContext& context, const Integers& size, bool ceiling) {
  const Shape& shape = context.inputs[0]->shape;
  const std::size_t dimensions = size.size();
  if (dimensions == 0 || dimensions > 3 || shape.size() != dimensions + 2) {
    return absl::InvalidArgumentError(fmt::format(
        "a window of {} dimensions over an input {}; one to three are taken", dimensions, TextOf(shape)));
  }
  RETURN_IF_ERROR(ElementsOf(size).status());
  Window window;
  window.size = size;
  window.input.assign(shape.begin() + 2, shape.end());
  ASSIGN_OR_RETURN(const Integers stated, context.attributes().Integers("kernel_shape", size));
  if (stated != size) return absl::InvalidArgumentError("kernel_shape is not that of the weights");
  ASSIGN_OR_RETURN(window.stride, ReadNumbers(context, "strides", dimensions, 1, 1));
  ASSIGN_OR_RETURN(window.dilation, ReadNumbers(context, "dilations", dimensions, 1, 1));
  ASSIGN_OR_RETURN(const Integers pads, ReadNumbers(context, "pads", 2 * dimensions, 0, 0));
  ASSIGN_OR_RETURN(const std::string automatic, context.attributes().Text("auto_pad", "NOTSET"));
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID") {
    return absl::InvalidArgumentError(fmt::format("auto_pad \"{}\" is not known", automatic));
  }
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (size[d] < 1 || size[d] > kMaxExtent) return absl::InvalidArgumentError("a window has no pixel");
    const std::int64_t reach = (size[d] - 1) * window.dilation[d] + 1;
    std::int64_t before = automatic == "NOTSET" ? pads[d] : 0;
    std::int64_t after = automatic == "NOTSET" ? pads[dimensions + d] : 0;
    if (same) {
      const std::int64_t windows = (window.input[d] + window.stride[d] - 1) / window.stride[d];
      const std::int64_t more =
          std::max<std::int64_t>((windows - 1) * window.stride[d] + reach - window.input[d], 0);
      before = automatic == "SAME_UPPER" ? more / 2 : more - more / 2;
      after = more - before;
    }
    if (before >= reach || after >= reach) {
      return absl::InvalidArgumentError("the padding is as large as the window: some windows see nothing");
    }
    const std::int64_t room = window.input[d] + before + after - reach;
    if (room < 0) return absl::InvalidArgumentError("the window is larger than the image");
    std::int64_t windows = (room + (ceiling ? window.stride[d] - 1 : 0)) / window.stride[d] + 1;
    // A window that begins behind the image and its padding in front sees nothing.
    if (ceiling && (windows - 1) * window.stride[d] >= window.input[d] + before) --windows;
    window.before.push_back(before);
    window.after.push_back(after);
    window.output.push_back(windows);
  }
  return window;
}

void MakePlane(Window& window) {
  if (window.rank() != 1) return;
  for (auto* const numbers :
       {&window.size, &window.stride, &window.dilation, &window.input, &window.output}) {
    numbers->insert(numbers->begin(), 1);
  }
  for (auto* const numbers : {&window.before, &window.after}) numbers->insert(numbers->begin(), 0);
}

Window OnePixel() {
  return {.size = {1, 1},
          .stride = {1, 1},
          .dilation = {1, 1},
          .before = {0, 0},
          .after = {0, 0},
          .input = {1, 1},
          .output = {1, 1}};
}

}  // namespace tributary::graph
