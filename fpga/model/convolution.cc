#include "fpga/model/convolution.h"

#include <algorithm>

namespace tributary::fpga {

std::uint8_t ShiftAndClip(std::int32_t sum, int shift) {
  return static_cast<std::uint8_t>(std::clamp<std::int32_t>(sum >> shift, 0, 255));
}

std::vector<std::uint8_t> Convolve(std::span<const std::uint8_t> image, std::size_t width,
                                   const Kernel& kernel, int shift, bool pad) {
  const auto columns = static_cast<std::ptrdiff_t>(width);
  const auto rows = static_cast<std::ptrdiff_t>(image.size() / width);
  const auto pixel = [&](std::ptrdiff_t row, std::ptrdiff_t column) -> std::int32_t {
    const bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
    return inside ? image[static_cast<std::size_t>(row * columns + column)] : 0;
  };

  const std::ptrdiff_t border = pad ? 0 : 1;
  std::vector<std::uint8_t> output;
  output.reserve(static_cast<std::size_t>((rows - 2 * border) * (columns - 2 * border)));
  for (std::ptrdiff_t row = border; row < rows - border; ++row) {
    for (std::ptrdiff_t column = border; column < columns - border; ++column) {
      std::int32_t sum = 0;  // |sum| ≤ 9 · 255 · 2048 < 2^23
      for (std::size_t tap = 0; tap < kKernelTaps; ++tap) {
        const auto dy = static_cast<std::ptrdiff_t>(tap / kKernelSide) - 1;
        const auto dx = static_cast<std::ptrdiff_t>(tap % kKernelSide) - 1;
        sum += kernel[tap] * pixel(row + dy, column + dx);
      }
      output.push_back(ShiftAndClip(sum, shift));
    }
  }
  return output;
}

}  // namespace tributary::fpga
