#include "fpga/model/tensor_float32.h"

#include "fpga/model/tensor_float.h"

namespace tributary::fpga {
namespace {

constexpr int kFloat32Cut = 18;     // lowest bits of a product's 48
constexpr int kFloat32Dropped = 3;  // of a group's sum
// A product of exponents e has the unit 2^(e - 300): a bias of 127 and 23 bits behind the point, twice.
// The group's sum has the unit 2^(largest - 300 + 18 + 3), and the accumulator 2^(exponent - 127 - 23 - 6).
constexpr int kFloat32UnitDistance = 123;

}  // namespace

TensorFloat32Output Float32Output(const TensorCommand& command) {
  const std::uint64_t word = EncodeTensorCommand(command)[6];
  return {.low = static_cast<std::uint32_t>(word), .high = static_cast<std::uint32_t>(word >> 32)};
}

void SetFloat32Output(const TensorFloat32Output& output, TensorCommand& command) {
  auto words = EncodeTensorCommand(command);
  words[6] = output.low | std::uint64_t{output.high} << 32;
  command = DecodeTensorCommand(words);
}

std::uint32_t AddFloat32Group(std::uint32_t sum, std::span<const std::uint32_t> activations,
                              std::span<const std::uint32_t> weights) {
  FloatGroup group =
      SumFloatProducts(activations, weights, [](std::int64_t activation, std::int64_t weight, int distance) {
        return activation * weight >> kFloat32Cut >> distance;
      });
  group.sum >>= kFloat32Dropped;
  group.exponent -= kFloat32UnitDistance;
  return AddFloatGroup(sum, group);
}

}  // namespace tributary::fpga
