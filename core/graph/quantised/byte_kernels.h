// Layers of bytes on the vector units. The instructions are chosen for the processor at run time; the results
// have the same bits on every processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::graph {

// Channels of a pixel lie together, filled up to whole blocks. A byte is q of a uint8 tensor, or q + 128 of
// an int8 one.
inline constexpr std::size_t kChannelBlock = 16;
constexpr std::size_t InBlocks(std::size_t channels) {
  return (channels + kChannelBlock - 1) / kChannelBlock * kChannelBlock;
}

// Bytes from an image, row or column to the next.
struct PixelSteps {
  std::size_t image = 0, row = 0, column = 0;
};

// The pixels of a layer's result, and where each of them reads and writes.
struct PixelGrid {
  std::size_t images = 0, rows = 0, columns = 0;
  std::size_t channels = 0;                   // of the result, in whole blocks
  const std::uint8_t* input = nullptr;        // the first tap of the first window
  PixelSteps input_steps = {};                // from window to window
  std::span<const std::ptrdiff_t> taps = {};  // bytes from the first one
  std::uint8_t* output = nullptr;
  PixelSteps output_steps = {};
  const std::uint8_t* residual = nullptr;  // null: no second operand
  PixelSteps residual_steps = {};
};

// From a sum to a byte: clamp(zero + round(sum · factor + (r − residual zero) · residual factor)), ties to
// even. Arrays have an element for each channel of the grid. Products and their sum are exact in doubles
// (kMostScaled).
struct ByteStage {
  const std::int32_t* bias = nullptr;
  const double* factors = nullptr;
  const double* residual_factors = nullptr;
  std::int32_t residual_zero = 0, zero = 0, lowest = 0, highest = 255;
};

// Weights [outputs × inputs × taps] in the order that the processor reads them. Outputs beyond the last are
// zero.
std::vector<std::int8_t> PackDense(std::span<const std::int8_t> weights, std::size_t outputs,
                                   std::size_t inputs, std::size_t taps);
// Weights [channels × taps] for DepthwiseBytes.
std::vector<std::int8_t> PackDepthwise(std::span<const std::int8_t> weights, std::size_t channels,
                                       std::size_t taps);

// Sums over all `inputs` channels of all taps.
void ConvolveBytes(const PixelGrid& grid, std::size_t inputs, std::span<const std::int8_t> packed,
                   const ByteStage& stage);
// Each channel for itself.
void DepthwiseBytes(const PixelGrid& grid, std::span<const std::int8_t> packed, const ByteStage& stage);
// Sums of the taps, each channel for itself.
void AverageBytes(const PixelGrid& grid, const ByteStage& stage);

}  // namespace tributary::graph
