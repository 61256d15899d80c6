// The golden model's CONVOLVE in bfloat16.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fpga/model/tensor_bfloat.h"
#include "fpga/model/tensor_unit_wide.h"

namespace tributary::fpga {

void TensorUnit::ConvolveBfloat(const TensorCommand& c, std::span<const std::uint64_t> following) {
  const TensorBfloatOutput output = BfloatOutput(c);
  if ((c.flags & kTensorFloat32) != 0) {
    ConvolveFloats(c, following, output.pad, AddBfloatGroup, [](std::uint32_t sum) { return sum; });
  } else {
    ConvolveFloats(c, following, output.pad, AddBfloatGroup,
                   [&](std::uint32_t sum) { return BfloatOutputOf(sum, output.low, output.high); });
  }
}

}  // namespace tributary::fpga
