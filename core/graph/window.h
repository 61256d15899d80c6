// The windows that convolutions and pools slide over an image of one, two or three dimensions.
#pragma once

#include <algorithm>
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

// A window over one dimension becomes one over two.
void MakePlane(Window& window);
// That of a product with a matrix: an image of one pixel.
Window OnePixel();

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
      Advance(tap, window.size);
    }
    Advance(at, window.output);
  }
}

// The same by runs along the last dimension: calls visit(window, tap, pixel, count) for windows that follow
// one another, whose pixels lie window.stride.back() apart.
void ForEachRun(const Window& window, const auto& visit) {
  const auto dimensions = static_cast<std::size_t>(window.rank());
  const std::size_t last = dimensions - 1;
  const std::int64_t row = window.output[last], lines = row == 0 ? 0 : window.windows() / row;
  const std::int64_t taps = window.taps();
  std::vector<std::int64_t> at(last), tap(dimensions);
  for (std::int64_t t = 0; t < taps; ++t) {
    // Windows from `begin` to `end` see a pixel of the row: 0 <= w · stride + shift < input.
    const std::int64_t shift = tap[last] * window.dilation[last] - window.before[last];
    const std::int64_t stride = window.stride[last];
    const std::int64_t begin = shift >= 0 ? 0 : std::min(row, (-shift + stride - 1) / stride);
    const std::int64_t room = window.input[last] - shift;
    const std::int64_t end = room <= 0 ? 0 : std::min(row, (room + stride - 1) / stride);
    for (std::int64_t line = 0; line < lines; ++line) {
      std::int64_t pixel = 0;
      bool inside = begin < end;
      for (std::size_t d = 0; d < last && inside; ++d) {
        const std::int64_t place = at[d] * window.stride[d] + tap[d] * window.dilation[d] - window.before[d];
        inside = place >= 0 && place < window.input[d];
        pixel = pixel * window.input[d] + place;
      }
      if (inside) {
        visit(line * row + begin, t, pixel * window.input[last] + begin * stride + shift, end - begin);
      }
      Advance(at, window.output);
    }
    Advance(tap, window.size);
  }
}

}  // namespace tributary::graph
