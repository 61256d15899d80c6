// The golden model's CONVOLVE in int32.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fpga/model/tensor_int32.h"
#include "fpga/model/tensor_unit.h"
#include "fpga/model/tensor_words.h"

namespace tributary::fpga {

void TensorUnit::ConvolveInt32(const TensorCommand& c, std::span<const std::uint64_t> following) {
  const std::size_t n = size_.quarter_lanes();
  const std::uint32_t pixels = std::uint32_t{c.output_height} * c.output_width;
  const std::uint32_t taps = std::uint32_t{c.kernel_height} * c.kernel_width;
  const TensorInt32Output output = Int32Output(c);
  std::vector<std::int64_t> inputs(n), weights(n * n);
  for (std::uint32_t block = 0; block < c.output_blocks; ++block) {
    std::vector<absl::int128> sums(pixels * n);
    for (std::uint32_t tile = 0; tile < c.input_blocks * taps; ++tile) {
      const int ky = static_cast<int>(tile % taps / c.kernel_width);
      const int kx = static_cast<int>(tile % taps % c.kernel_width);
      for (std::size_t i = 0; i < n * n; ++i) {
        weights[i] = static_cast<std::int32_t>(following[i / 2] >> (32 * (i % 2)));
      }
      following = following.subspan(TensorTileWords(c, size_));
      for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
        const int y = c.origin_y + static_cast<int>(pixel / c.output_width) * c.stride_y + ky;
        const int x = c.origin_x + static_cast<int>(pixel % c.output_width) * c.stride_x + kx;
        const std::optional<std::size_t> vector = VectorAt(c, tile / taps, y, x);
        for (std::size_t row = 0; row < n; ++row) {
          inputs[row] = vector ? WordOf(activations_, *vector * size_.lanes + 4 * row) : 0;
        }
        for (std::size_t row = 0; row < n; ++row) {
          for (std::size_t column = 0; column < n; ++column) {
            sums[pixel * n + column] += inputs[row] * weights[row * n + column];
          }
        }
      }
    }
    for (std::size_t column = 0; column < n; ++column) {
      const TensorInt32Channel channel = DecodeInt32Channel(following.subspan(4 * column).first<4>());
      for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
        const std::size_t vector = c.output_address + std::size_t{block} * c.output_plane + pixel;
        PutBytes(std::span(activations_).subspan(vector * size_.lanes + 4 * column, 4),
                 static_cast<std::uint32_t>(Int32ScaledOutputOf(sums[pixel * n + column], channel, output)));
      }
    }
    following = following.subspan(size_.lanes);
  }
}

}  // namespace tributary::fpga
