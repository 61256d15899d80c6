// The golden model's CONVOLVE in int16.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fpga/model/tensor_int16.h"
#include "fpga/model/tensor_unit.h"
#include "fpga/model/tensor_words.h"

namespace tributary::fpga {

void TensorUnit::ConvolveInt16(const TensorCommand& c, std::span<const std::uint64_t> following) {
  const std::size_t n = size_.half_lanes();
  const std::uint32_t pixels = std::uint32_t{c.output_height} * c.output_width;
  const std::uint32_t taps = std::uint32_t{c.kernel_height} * c.kernel_width;
  const TensorInt16Output output = Int16Output(c);
  const bool int32 = (c.flags & kTensorInt32) != 0;
  std::vector<std::int32_t> inputs(n), weights(n * n);
  for (std::uint32_t block = 0; block < c.output_blocks; ++block) {
    std::vector<std::int64_t> sums(pixels * n);
    for (std::uint32_t tile = 0; tile < c.input_blocks * taps; ++tile) {
      const int ky = static_cast<int>(tile % taps / c.kernel_width);
      const int kx = static_cast<int>(tile % taps % c.kernel_width);
      for (std::size_t i = 0; i < n * n; ++i) weights[i] = static_cast<std::int16_t>(HalfAt(following, i));
      following = following.subspan(TensorTileWords(c, size_));
      for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
        const int y = c.origin_y + static_cast<int>(pixel / c.output_width) * c.stride_y + ky;
        const int x = c.origin_x + static_cast<int>(pixel % c.output_width) * c.stride_x + kx;
        const std::optional<std::size_t> vector = VectorAt(c, tile / taps, y, x);
        for (std::size_t row = 0; row < n; ++row) {
          inputs[row] = vector
                            ? static_cast<std::int16_t>(HalfOf(activations_, *vector * size_.lanes + 2 * row))
                            : output.pad;
        }
        for (std::size_t row = 0; row < n; ++row) {
          for (std::size_t column = 0; column < n; ++column) {
            sums[pixel * n + column] += inputs[row] * weights[row * n + column];
          }
        }
      }
    }
    // Channels of int32 that do not fit the first vector of a pixel are a block of their own.
    const std::size_t bytes = int32 ? 4 : 2, per_vector = size_.lanes / bytes, planes = int32 ? 2 : 1;
    for (std::size_t column = 0; column < n; ++column) {
      const TensorInt16Channel channel = DecodeInt16Channel(following[2 * column], following[2 * column + 1]);
      const std::size_t plane = block * planes + column / per_vector;
      for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
        const std::size_t vector = c.output_address + plane * c.output_plane + pixel;
        const std::int64_t sum = sums[pixel * n + column];
        PutBytes(std::span(activations_).subspan(vector * size_.lanes + column % per_vector * bytes, bytes),
                 static_cast<std::uint32_t>(int32 ? Int32OutputOf(sum, channel)
                                                  : Int16OutputOf(sum, channel, output)));
      }
    }
    following = following.subspan(size_.lanes);
  }
}

}  // namespace tributary::fpga
