// The golden model's CONVOLVE in bfloat16.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fpga/model/tensor_bfloat.h"
#include "fpga/model/tensor_unit.h"
#include "fpga/model/tensor_words.h"

namespace tributary::fpga {

void TensorUnit::ConvolveBfloat(const TensorCommand& c, std::span<const std::uint64_t> following) {
  const std::size_t n = size_.half_lanes();
  const std::uint32_t pixels = std::uint32_t{c.output_height} * c.output_width;
  const std::uint32_t taps = std::uint32_t{c.kernel_height} * c.kernel_width;
  const TensorBfloatOutput output = BfloatOutput(c);
  const bool float32 = (c.flags & kTensorFloat32) != 0;
  const std::size_t planes = float32 ? 2 : 1;
  std::vector<std::uint32_t> sums(pixels * n);
  std::vector<std::uint16_t> inputs(n), weights(n * n);
  for (std::uint32_t block = 0; block < c.output_blocks; ++block) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<std::uint32_t>(following[i % n]);
    following = following.subspan(n);
    for (std::uint32_t tile = 0; tile < c.input_blocks * taps; ++tile) {
      const int ky = static_cast<int>(tile % taps / c.kernel_width);
      const int kx = static_cast<int>(tile % taps % c.kernel_width);
      // In columns instead of rows.
      for (std::size_t i = 0; i < n * n; ++i) weights[i % n * n + i / n] = HalfAt(following, i);
      following = following.subspan(TensorTileWords(c, size_));
      for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
        const int y = c.origin_y + static_cast<int>(pixel / c.output_width) * c.stride_y + ky;
        const int x = c.origin_x + static_cast<int>(pixel % c.output_width) * c.stride_x + kx;
        const std::optional<std::size_t> vector = VectorAt(c, tile / taps, y, x);
        for (std::size_t row = 0; row < n; ++row) {
          inputs[row] = vector ? HalfOf(activations_, *vector * size_.lanes + 2 * row) : output.pad;
        }
        for (std::size_t column = 0; column < n; ++column) {
          std::uint32_t& sum = sums[pixel * n + column];
          sum = AddBfloatGroup(sum, inputs, std::span(weights).subspan(column * n, n));
        }
      }
    }
    // Channels of float32 that do not fit the first vector of a pixel are a block of their own.
    const std::size_t bytes = float32 ? 4 : 2, per_vector = size_.lanes / bytes;
    for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
      for (std::size_t column = 0; column < n; ++column) {
        const std::size_t plane = block * planes + column / per_vector;
        const std::size_t vector = c.output_address + plane * c.output_plane + pixel;
        const std::uint32_t sum = sums[pixel * n + column];
        PutBytes(std::span(activations_).subspan(vector * size_.lanes + column % per_vector * bytes, bytes),
                 float32 ? sum : BfloatOutputOf(sum, output.low, output.high));
      }
    }
  }
}

}  // namespace tributary::fpga
