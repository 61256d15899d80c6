// The golden model of the 3×3 convolution: 8-bit pixels, 12-bit weights, shift, clip.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::fpga {

inline constexpr std::size_t kKernelSide = 3;
inline constexpr std::size_t kKernelTaps = kKernelSide * kKernelSide;
inline constexpr int kCoefficientBits = 12;  // [SSL], 5.1.2: 1 sign, 4 integer, 7 fraction bits
inline constexpr int kCoefficientShift = 7;  // with this shift a coefficient of 128 means 1.0

// Row-major; a cross-correlation, as in networks: tap (0, 0) meets the pixel above and left of the centre.
using Kernel = std::array<std::int16_t, kKernelTaps>;  // each in -2048 … 2047

// sum · 2^-shift, rounded down, clipped to 0 … 255; the clip is also the activation function.
std::uint8_t ShiftAndClip(std::int32_t sum, int shift);

// Convolves a row-major image [height × width]. With pad, zeros stand around the image and the result has its
// size; without, the result has (height - 2) × (width - 2) pixels. width and height are at least 3, shift in
// 0 … 15.
std::vector<std::uint8_t> Convolve(std::span<const std::uint8_t> image, std::size_t width,
                                   const Kernel& kernel, int shift, bool pad);

}  // namespace tributary::fpga
