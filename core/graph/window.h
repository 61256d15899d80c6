// The windows that convolutions and pools slide over an image of one, two or three dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/graph/operation.h"

namespace tributary::graph {

// An element for each spatial dimension.
struct Window {
  std::vector<std::int64_t> size, stride, dilation, before, after;  // before, after: padding
  std::vector<std::int64_t> input, output;                          // extents

  std::int64_t rank() const { return static_cast<std::int64_t>(size.size()); }
  std::int64_t taps() const;     // of a window
  std::int64_t windows() const;  // of an image
  std::int64_t pixels() const;   // of an image
};

// Reads strides, dilations, pads and auto_pad of a node whose input 0 is [N × C × spatial…]; `size`: of the
// window; the attribute kernel_shape, if it is there, must be equal. `ceiling`: the last window may hang over
// the edge, as ceil_mode = 1. Errors: InvalidArgument, also for windows that fit nowhere and for padding as
// large as a window or larger.
absl::StatusOr<Window> WindowOf(const NodeContext& context, const std::vector<std::int64_t>& size,
                                bool ceiling = false);

// Calls visit(window, tap, pixel) for each tap that lies within the image; windows, taps and pixels are
// counted row-major.
void ForEachTap(const Window& window, const auto& visit) {
  const auto dimensions = static_cast<std::size_t>(window.rank());
  std::vector<std::int64_t> at(dimensions), tap(dimensions);
  const std::int64_t windows = window.windows(), taps = window.taps();
  for (std::int64_t w = 0; w < windows; ++w) {
    for (std::int64_t t = 0; t < taps; ++t) {
      std::int64_t pixel = 0;
      bool inside = true;
      for (std::size_t d = 0; d < dimensions && inside; ++d) {
        const std::int64_t place = at[d] * window.stride[d] + tap[d] * window.dilation[d] - window.before[d];
        inside = place >= 0 && place < window.input[d];
        pixel = pixel * window.input[d] + place;
      }
      if (inside) visit(w, t, pixel);
      for (std::size_t d = dimensions; d-- > 0;) {
        if (++tap[d] < window.size[d]) break;
        tap[d] = 0;
      }
    }
    for (std::size_t d = dimensions; d-- > 0;) {
      if (++at[d] < window.output[d]) break;
      at[d] = 0;
    }
  }
}

}  // namespace tributary::graph
