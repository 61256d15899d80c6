// The golden model's CONVOLVE in float32.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fpga/model/tensor_float.h"
#include "fpga/model/tensor_float32.h"
#include "fpga/model/tensor_unit_wide.h"

namespace tributary::fpga {

void TensorUnit::ConvolveFloat32(const TensorCommand& c, std::span<const std::uint64_t> following) {
  const TensorFloat32Output output = Float32Output(c);
  ConvolveFloats(c, following, std::uint32_t{0}, AddFloat32Group,
                 [&](std::uint32_t sum) { return LimitedFloat(sum, output.low, output.high); });
}

}  // namespace tributary::fpga
