#include "fpga/model/tensor_bfloat.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "fpga/model/tensor_float.h"
#include "fpga/model/tensor_unit_fixture.h"
#include "fpga/tb/tensor/random_floats.h"

namespace tributary::fpga {
namespace {

std::uint32_t Bits(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(BfloatProductTest, IsRoundedOnceAsThatOfFloats) {
  std::mt19937_64 random(21);
  const RandomFloats numbers(RandomFloats::Kind::kWide);
  for (int i = 0; i < 50'000; ++i) {
    const std::array pair = {numbers.NextBfloat16(random), numbers.NextBfloat16(random)};
    const float product = FloatOf(pair[0]) * FloatOf(pair[1]);
    EXPECT_EQ(AddBfloatGroup(0, std::span(pair).first(1), std::span(pair).last(1)), Bits(product + 0.0f));
  }
}

TEST(BfloatNumbersTest, AreTheNearestOnes) {
  EXPECT_EQ(Bfloat16Of(1.0f), 0x3f80);
  EXPECT_EQ(Bfloat16Of(-0.0f), 0x8000);
  EXPECT_EQ(Bfloat16Of(0x1.01p0f), 0x3f80);  // ties to even
  EXPECT_EQ(Bfloat16Of(0x1.03p0f), 0x3f82);
  EXPECT_EQ(Bfloat16Of(0x1.010002p0f), 0x3f81);
  EXPECT_EQ(Bfloat16Of(std::numeric_limits<float>::max()), kBfloat16Infinity);
  EXPECT_EQ(Bfloat16Of(-std::numeric_limits<float>::infinity()), kBfloat16MinusInfinity);
  EXPECT_EQ(RoundToBfloat16(0x7f80'0001), 0x7fc0);
  EXPECT_EQ(RoundToBfloat16(0xffff'ffff), 0xffc0);
  for (std::uint32_t bits = 0; bits < 0x1'0000; ++bits) {
    const auto value = static_cast<std::uint16_t>(bits);
    if (!std::isnan(FloatOf(value))) {
      EXPECT_EQ(Bfloat16Of(FloatOf(value)), value);
    }
  }
}

TEST(BfloatNumbersTest, AreLimited) {
  const auto limited = [](float sum, float low, float high) {
    return FloatOf(BfloatOutputOf(Bits(sum), Bfloat16Of(low), Bfloat16Of(high)));
  };
  EXPECT_EQ(limited(-3.0f, 0.0f, std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(limited(3.0f, 0.0f, std::numeric_limits<float>::infinity()), 3.0f);
  EXPECT_EQ(limited(7.0f, 0.0f, 6.0f), 6.0f);
  EXPECT_EQ(limited(6.03f, 0.0f, 6.0f), 6.0f);
  EXPECT_EQ(limited(-7.0f, -6.0f, 2.0f), -6.0f);
  EXPECT_EQ(limited(-5.0f, -6.0f, 2.0f), -5.0f);
  EXPECT_EQ(limited(2.5f, -6.0f, 2.0f), 2.0f);
  EXPECT_EQ(BfloatOutputOf(kFloat32Nan, 0, 0x3f80), 0x7fc0);
  EXPECT_EQ(
      BfloatOutputOf(Bits(std::numeric_limits<float>::max()), kBfloat16MinusInfinity, kBfloat16Infinity),
      kBfloat16Infinity);
}

class TensorBfloatUnitTest : public TensorConvolutionTest {
 protected:
  // Runs the command on random values and returns the words of `planes` planes of results.
  std::vector<std::uint64_t> Run(const TensorCommand& command, std::uint32_t planes) {
    inputs_ = Bfloat16sOf(RandomFloats(kInputCount));
    weights_ = Bfloat16sOf(RandomFloats(kWeightCount));
    biases_ = RandomFloats(kOutputs);
    return RunOn(PackBfloatTensor(inputs_, kInputs, size_), planes, [&](TensorProgramBuilder& program) {
      return program.ConvolveBfloat(command, kOutputs, kInputs, weights_, biases_);
    });
  }

  // Calls check(index, exact sum, sum of the sizes of what it adds) for each output.
  template <typename Check>
  void ForEachOutput(float pad, Check check) const {
    for (std::size_t at = 0; at < kOutputCount; ++at) {
      double sum = biases_[at / kOutPixels], sizes = std::abs(sum);
      ForEachProduct(at, [&](std::optional<std::size_t> input, std::size_t weight) {
        const double product = static_cast<double>(input ? FloatOf(inputs_[*input]) : pad) *
                               static_cast<double>(FloatOf(weights_[weight]));
        sum += product;
        sizes += std::abs(product);
      });
      check(at, sum, sizes);
    }
  }

  // The bound of all groups of an output together.
  double ErrorOf(double sizes) const {
    const double tiles = TensorHalfBlocks(kInputs, size_) * kTaps;
    return sizes * (BfloatGroupError(size_.half_lanes()) + 1.1 * tiles * kTensorResultError);
  }

  std::vector<std::uint16_t> inputs_, weights_;
  std::vector<float> biases_;
};

TEST_P(TensorBfloatUnitTest, ConvolvesToFloat32) {
  TensorCommand command = Command();
  command.flags = kTensorFloat32;
  SetBfloatOutput({.pad = Bfloat16Of(0.5f), .low = 0, .high = 0}, command);  // sums have no limits
  const std::uint32_t blocks = TensorQuarterBlocks(kOutputs, size_);
  const std::vector<float> found = UnpackFloatTensor(Run(command, blocks), kOutputs, size_);
  ASSERT_EQ(found.size(), kOutputCount);
  ForEachOutput(0.5f, [&](std::size_t at, double exact, double sizes) {
    EXPECT_NEAR(static_cast<double>(found[at]), exact, ErrorOf(sizes)) << at;
  });
}

TEST_P(TensorBfloatUnitTest, ConvolvesToBfloat16WithinLimits) {
  TensorCommand command = Command();
  SetBfloatOutput({.low = 0, .high = Bfloat16Of(6.0f)}, command);
  const std::uint32_t blocks = TensorHalfBlocks(kOutputs, size_);
  const auto found = UnpackBfloatTensor(Run(command, blocks), kOutputs, size_);
  ASSERT_EQ(found.size(), kOutputCount);
  int zeros = 0, sixes = 0;
  ForEachOutput(0.0f, [&](std::size_t at, double exact, double sizes) {
    const double value = FloatOf(found[at]);
    EXPECT_NEAR(value, std::clamp(exact, 0.0, 6.0), ErrorOf(sizes) + std::abs(value) / 256) << at;
    zeros += value == 0.0, sixes += value == 6.0;
  });
  EXPECT_GT(zeros, 0);
  EXPECT_GT(sixes, 0);
}

INSTANTIATE_TEST_SUITE_P(Lanes, TensorBfloatUnitTest, testing::Values(8u, 16u, 32u));

TEST(BfloatCommandTest, KeepsItsLimits) {
  TensorCommand command = {.opcode = TensorOpcode::kConvolve};
  SetBfloatOutput({.pad = 0x1234, .low = 0x89ab, .high = 0xcdef}, command);
  EXPECT_EQ(EncodeTensorCommand(command)[6], 0xcdef'89ab'1234u);
  EXPECT_EQ(BfloatOutput(command).pad, 0x1234);
  EXPECT_EQ(BfloatOutput(command).low, 0x89ab);
  EXPECT_EQ(BfloatOutput(command).high, 0xcdef);
  EXPECT_EQ(command.opcode, TensorOpcode::kConvolve);
}

}  // namespace
}  // namespace tributary::fpga
