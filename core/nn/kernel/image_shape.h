// The shape of an image: square, grey or in colour.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace tributary::nn {

// An image lies in memory channel by channel, each row by row: [channels × side × side], as one of "NCHW".
struct ImageShape {
  std::size_t side = 0;      // pixels
  std::size_t channels = 1;  // 1: grey; 3: red, green, blue

  static constexpr std::size_t kColour = 3;

  constexpr std::size_t plane() const { return side * side; }
  constexpr std::size_t size() const { return channels * plane(); }  // values
  // "28 x 28" or "32 x 32 x 3". ASCII: it crosses the wire.
  std::string Text() const {
    return channels == 1 ? fmt::format("{0} x {0}", side) : fmt::format("{0} x {0} x {1}", side, channels);
  }

  friend constexpr bool operator==(const ImageShape&, const ImageShape&) = default;
};

}  // namespace tributary::nn
