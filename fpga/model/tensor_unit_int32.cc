// The golden model's CONVOLVE in int32.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fpga/model/tensor_int32.h"
#include "fpga/model/tensor_unit_wide.h"

namespace tributary::fpga {

void TensorUnit::ConvolveInt32(const TensorCommand& c, std::span<const std::uint64_t> following) {
  const std::size_t n = size_.quarter_lanes();
  const std::uint32_t pixels = std::uint32_t{c.output_height} * c.output_width;
  const TensorInt32Output output = Int32Output(c);
  for (std::uint32_t block = 0; block < c.output_blocks; ++block) {
    std::vector<absl::int128> sums(pixels * n);
    ForEachVector(c, following, std::int32_t{0}, [&](std::uint32_t pixel, auto inputs, auto weights) {
      for (std::size_t i = 0; i < n * n; ++i) {
        sums[pixel * n + i / n] += std::int64_t{inputs[i % n]} * weights[i];
      }
    });
    for (std::size_t column = 0; column < n; ++column) {
      const TensorInt32Channel channel = DecodeInt32Channel(following.subspan(4 * column).first<4>());
      for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
        WriteWide(c, block, column, pixel, Int32ScaledOutputOf(sums[pixel * n + column], channel, output));
      }
    }
    following = following.subspan(size_.lanes);
  }
}

}  // namespace tributary::fpga
