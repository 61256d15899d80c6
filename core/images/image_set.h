// Grey images, optionally with labels: nodes learn from them, operators judge by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::images {

struct ImageSet {
  std::size_t side = 0;              // pixels; images are square
  std::vector<std::uint8_t> pixels;  // [count × side × side], row-major
  std::vector<std::uint8_t> labels;  // [count], or empty

  std::size_t image_size() const { return side * side; }
  std::size_t count() const { return side == 0 ? 0 : pixels.size() / image_size(); }
  std::span<const std::uint8_t> image(std::size_t i) const {
    return std::span(pixels).subspan(i * image_size(), image_size());
  }
};

}  // namespace tributary::images
