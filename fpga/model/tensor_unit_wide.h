// What the golden model's CONVOLVE has in common for numbers of 16 and 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fpga/model/tensor_unit.h"
#include "fpga/model/tensor_words.h"

namespace tributary::fpga {

// Calls add(pixel, inputs, weights) for every tile of an output block and every pixel, and takes the tiles
// from `following`. `inputs`: [row]; `weights`: [column][row]. Places outside the input read as `pad`.
template <typename Value, typename Add>
void TensorUnit::ForEachVector(const TensorCommand& c, std::span<const std::uint64_t>& following, Value pad,
                               Add add) const {
  const std::size_t n = size_.lanes / sizeof(Value);
  const std::uint32_t pixels = std::uint32_t{c.output_height} * c.output_width;
  const std::uint32_t taps = std::uint32_t{c.kernel_height} * c.kernel_width;
  std::vector<Value> inputs(n), weights(n * n);
  for (std::uint32_t tile = 0; tile < c.input_blocks * taps; ++tile) {
    const int ky = static_cast<int>(tile % taps / c.kernel_width);
    const int kx = static_cast<int>(tile % taps % c.kernel_width);
    for (std::size_t i = 0; i < n * n; ++i) weights[i % n * n + i / n] = ValueAt<Value>(following, i);
    following = following.subspan(TensorTileWords(c, size_));
    for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
      const int y = c.origin_y + static_cast<int>(pixel / c.output_width) * c.stride_y + ky;
      const int x = c.origin_x + static_cast<int>(pixel % c.output_width) * c.stride_x + kx;
      const std::optional<std::size_t> vector = VectorAt(c, tile / taps, y, x);
      for (std::size_t row = 0; row < n; ++row) {
        inputs[row] =
            vector ? ValueOf<Value>(activations_, *vector * size_.lanes + row * sizeof(Value)) : pad;
      }
      add(pixel, std::span<const Value>(inputs), std::span<const Value>(weights));
    }
  }
}

// Writes a result. Columns that do not fit the first vector of a pixel are in a plane of their own.
template <typename Value>
void TensorUnit::WriteWide(const TensorCommand& c, std::uint32_t block, std::size_t column,
                           std::uint32_t pixel, Value value) {
  const std::size_t per_vector = size_.lanes / sizeof(Value);
  const std::size_t planes = (c.flags & kTensorInt32) != 0 ? 2 : 1;
  const std::size_t plane = block * planes + column / per_vector;
  const std::size_t vector = c.output_address + plane * c.output_plane + pixel;
  PutBytes(activations_, vector * size_.lanes + column % per_vector * sizeof(Value), value);
}

// A whole convolution with accumulators of float32. add: what an accumulator becomes with the activations and
// weights of a group; result: what is written for one. Both and `pad` by their bits.
template <typename Value, typename Add, typename Result>
void TensorUnit::ConvolveFloats(const TensorCommand& c, std::span<const std::uint64_t> following, Value pad,
                                Add add, Result result) {
  const std::size_t n = size_.lanes / sizeof(Value);
  std::vector<std::uint32_t> sums(std::size_t{c.output_height} * c.output_width * n);
  for (std::uint32_t block = 0; block < c.output_blocks; ++block) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<std::uint32_t>(following[i % n]);
    following = following.subspan(n);
    ForEachVector(c, following, pad, [&](std::uint32_t pixel, auto inputs, auto weights) {
      for (std::size_t column = 0; column < n; ++column) {
        std::uint32_t& sum = sums[pixel * n + column];
        sum = add(sum, inputs, weights.subspan(column * n, n));
      }
    });
    for (std::size_t i = 0; i < sums.size(); ++i) {
      WriteWide(c, block, i % n, static_cast<std::uint32_t>(i / n), result(sums[i]));
    }
  }
}

}  // namespace tributary::fpga
