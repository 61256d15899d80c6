#include "fpga/model/tensor_float32.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "fpga/model/tensor_float.h"
#include "fpga/model/tensor_unit_fixture.h"

namespace tributary::fpga {
namespace {

class TensorFloat32UnitTest : public TensorConvolutionTest {
 protected:
  // The bound of all groups of an output together, for the sum of the sizes of what it adds.
  double ErrorOf(double sizes) const {
    const double tiles = TensorQuarterBlocks(kInputs, size_) * kTaps;
    return sizes * (Float32GroupError(size_.quarter_lanes()) + 1.1 * tiles * kTensorResultError);
  }
};

TEST_P(TensorFloat32UnitTest, ConvolvesWithinLimits) {
  TensorCommand command = Command();
  SetFloat32Output({.low = 0, .high = std::bit_cast<std::uint32_t>(6.0f)}, command);
  const std::vector<float> inputs = RandomFloats(kInputCount), weights = RandomFloats(kWeightCount),
                           biases = RandomFloats(kOutputs);
  const auto words = RunOn(PackFloatTensor(inputs, kInputs, size_), TensorQuarterBlocks(kOutputs, size_),
                           [&](TensorProgramBuilder& program) {
                             return program.ConvolveFloat32(command, kOutputs, kInputs, weights, biases);
                           });
  const std::vector<float> found = UnpackFloatTensor(words, kOutputs, size_);
  ASSERT_EQ(found.size(), kOutputCount);
  int zeros = 0, sixes = 0;
  for (std::size_t at = 0; at < found.size(); ++at) {
    double sum = static_cast<double>(biases[at / kOutPixels]), sizes = std::abs(sum);
    ForEachProduct(at, [&](std::optional<std::size_t> input, std::size_t weight) {
      const double product =
          static_cast<double>(input ? inputs[*input] : 0.0f) * static_cast<double>(weights[weight]);
      sum += product;
      sizes += std::abs(product);
    });
    EXPECT_NEAR(static_cast<double>(found[at]), std::clamp(sum, 0.0, 6.0), ErrorOf(sizes)) << at;
    zeros += found[at] == 0.0f, sixes += found[at] == 6.0f;
  }
  EXPECT_GT(zeros, 0);
  EXPECT_GT(sixes, 0);
}

INSTANTIATE_TEST_SUITE_P(Lanes, TensorFloat32UnitTest, testing::Values(8u, 16u, 32u));

TEST(Float32CommandTest, KeepsItsLimits) {
  TensorCommand command = {.opcode = TensorOpcode::kConvolve};
  SetFloat32Output({.low = 0x89ab'cdef, .high = 0x1234'5678}, command);
  EXPECT_EQ(EncodeTensorCommand(command)[6], 0x1234'5678'89ab'cdefu);
  EXPECT_EQ(Float32Output(command).low, 0x89ab'cdef);
  EXPECT_EQ(Float32Output(command).high, 0x1234'5678u);
  EXPECT_EQ(command.opcode, TensorOpcode::kConvolve);
}

}  // namespace
}  // namespace tributary::fpga
