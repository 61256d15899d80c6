// The golden model's CONVOLVE in int16.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fpga/model/tensor_int16.h"
#include "fpga/model/tensor_unit_wide.h"

namespace tributary::fpga {

void TensorUnit::ConvolveInt16(const TensorCommand& c, std::span<const std::uint64_t> following) {
  const std::size_t n = size_.half_lanes();
  const std::uint32_t pixels = std::uint32_t{c.output_height} * c.output_width;
  const TensorInt16Output output = Int16Output(c);
  for (std::uint32_t block = 0; block < c.output_blocks; ++block) {
    std::vector<std::int64_t> sums(pixels * n);
    ForEachVector(c, following, output.pad, [&](std::uint32_t pixel, auto inputs, auto weights) {
      for (std::size_t i = 0; i < n * n; ++i) {
        sums[pixel * n + i / n] += std::int32_t{inputs[i % n]} * weights[i];
      }
    });
    for (std::size_t column = 0; column < n; ++column) {
      const TensorInt16Channel channel = DecodeInt16Channel(following[2 * column], following[2 * column + 1]);
      for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
        const std::int64_t sum = sums[pixel * n + column];
        if ((c.flags & kTensorInt32) != 0) {
          WriteWide(c, block, column, pixel, Int32OutputOf(sum, channel));
        } else {
          WriteWide(c, block, column, pixel, Int16OutputOf(sum, channel, output));
        }
      }
    }
    following = following.subspan(size_.lanes);
  }
}

}  // namespace tributary::fpga
