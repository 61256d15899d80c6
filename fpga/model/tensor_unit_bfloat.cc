// The golden model's CONVOLVE in bfloat16.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fpga/model/tensor_bfloat.h"
#include "fpga/model/tensor_unit_wide.h"

namespace tributary::fpga {

void TensorUnit::ConvolveBfloat(const TensorCommand& c, std::span<const std::uint64_t> following) {
  const std::size_t n = size_.half_lanes();
  const std::uint32_t pixels = std::uint32_t{c.output_height} * c.output_width;
  const TensorBfloatOutput output = BfloatOutput(c);
  std::vector<std::uint32_t> sums(pixels * n);
  for (std::uint32_t block = 0; block < c.output_blocks; ++block) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<std::uint32_t>(following[i % n]);
    following = following.subspan(n);
    ForEachVector(c, following, output.pad, [&](std::uint32_t pixel, auto inputs, auto weights) {
      for (std::size_t column = 0; column < n; ++column) {
        std::uint32_t& sum = sums[pixel * n + column];
        sum = AddBfloatGroup(sum, inputs, weights.subspan(column * n, n));
      }
    });
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto pixel = static_cast<std::uint32_t>(i / n);
      if ((c.flags & kTensorFloat32) != 0) {
        WriteWide(c, block, i % n, pixel, sums[i]);
      } else {
        WriteWide(c, block, i % n, pixel, BfloatOutputOf(sums[i], output.low, output.high));
      }
    }
  }
}

}  // namespace tributary::fpga
