#include "fpga/model/tensor_int16.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "fpga/model/tensor_unit_fixture.h"

namespace tributary::fpga {
namespace {

TEST(Int16OutputTest, IsWithinItsSlackOfExactRounding) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-44.0, 1.0), result(-32768.0, 32767.0);
  int differ = 0;
  constexpr int kTries = 200'000;
  for (int i = 0; i < kTries; ++i) {
    const double scale = std::exp2(exponent(random));
    const auto sum = static_cast<std::int64_t>(result(random) / scale);
    const double exact = scale * static_cast<double>(sum);
    const double expected = std::clamp(std::nearbyint(exact), -32768.0, 32767.0);
    const int shown = Int16OutputOf(sum, *Int16ChannelOf(scale), {});
    if (shown == expected) continue;
    ++differ;
    ASSERT_EQ(std::abs(shown - expected), 1.0);
    ASSERT_LE(std::abs(std::abs(exact - std::trunc(exact)) - 0.5), Int16RoundingSlack(exact))
        << scale << " " << sum;
  }
  EXPECT_GT(differ, 0);
  EXPECT_LT(differ, kTries / 8);
}

TEST(Int16OutputTest, RoundsExactTiesToEven) {
  const TensorInt16Channel quarter = *Int16ChannelOf(0.25);
  for (int sum = -140'000; sum <= 140'000; ++sum) {
    EXPECT_EQ(Int16OutputOf(sum, quarter, {}), std::clamp(std::nearbyint(sum * 0.25), -32768.0, 32767.0));
  }
  EXPECT_FALSE(Int16ChannelOf(0.0).ok());
  EXPECT_FALSE(Int16ChannelOf(std::nan("")).ok());
  EXPECT_FALSE(Int16ChannelOf(2.0).ok());
}

TEST(Int16OutputTest, LimitsWhatItHasPlaced) {
  TensorInt16Channel same = *Int16ChannelOf(1.0);
  const TensorInt16Output output = {.zero = -20'000, .low = -25'000, .high = 30'000};
  EXPECT_EQ(Int16OutputOf(-4'999, same, output), -24'999);
  EXPECT_EQ(Int16OutputOf(-5'001, same, output), -25'000);
  EXPECT_EQ(Int16OutputOf(50'001, same, output), 30'000);
  EXPECT_EQ(Int16OutputOf(std::int64_t{1} << 57, same, output), 30'000);
  EXPECT_EQ(Int16OutputOf(-(std::int64_t{1} << 57), same, output), -25'000);
  same.bias = -49'990;
  EXPECT_EQ(Int16OutputOf(50'000, same, output), -19'990);
}

TEST(Int16OutputTest, Int32IsTheShiftedSumSaturated) {
  TensorInt16Channel channel = {.bias = 7, .multiplier = 12345, .shift = 8};
  EXPECT_EQ(Int32OutputOf(1'000'000'000, channel), 1'000'000'007);
  EXPECT_EQ(Int32OutputOf(std::int64_t{1} << 40, channel), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(Int32OutputOf(-(std::int64_t{1} << 40), channel), std::numeric_limits<std::int32_t>::min());
  channel.shift = 0;
  EXPECT_EQ(Int32OutputOf(-9, channel), -512);
  // Halves up.
  channel.shift = 10;
  EXPECT_EQ(Int32OutputOf(-9, channel), 0);
  EXPECT_EQ(Int32OutputOf(-7 + 2, channel), 1);
  channel.shift = 63;
  EXPECT_EQ(Int32OutputOf(std::int64_t{1} << 58, channel), 8);
}

TEST(Int16OutputTest, ChannelsKeepTheirFields) {
  const TensorInt16Channel channel = {
      .bias = -(std::int64_t{1} << 47) + 5, .multiplier = 0x1abcd, .shift = 63};
  const auto words = EncodeInt16Channel(channel);
  EXPECT_EQ(words[0], 0x8000'0000'0005u);
  EXPECT_EQ(words[1], 0x3f'0001'abcdu);
  const TensorInt16Channel decoded = DecodeInt16Channel(words[0], words[1]);
  EXPECT_EQ(decoded.bias, channel.bias);
  EXPECT_EQ(decoded.multiplier, channel.multiplier);
  EXPECT_EQ(decoded.shift, channel.shift);
}

class TensorInt16UnitTest : public TensorConvolutionTest {
 protected:
  // Runs the command on random values and returns the words of `planes` planes of results.
  std::vector<std::uint64_t> Run(const TensorCommand& command, std::uint32_t planes) {
    inputs_ = RandomIntegers<std::int16_t>(kInputCount);
    weights_ = RandomIntegers<std::int16_t>(kWeightCount);
    for (std::uint32_t i = 0; i < kOutputs; ++i) {
      channels_.push_back(*Int16ChannelOf(std::ldexp(1.0 + 0.01 * i, -18)));
      channels_.back().bias = static_cast<std::int64_t>(random_()) >> 30;
    }
    return RunOn(PackInt16Tensor(inputs_, kInputs, size_), planes, [&](TensorProgramBuilder& program) {
      return program.ConvolveInt16(command, kOutputs, kInputs, weights_, channels_);
    });
  }
  std::vector<std::int64_t> Sums(std::int16_t pad) const {
    return SumsOf<std::int64_t, std::int32_t>(inputs_, weights_, pad);
  }

  std::vector<std::int16_t> inputs_, weights_;
  std::vector<TensorInt16Channel> channels_;
};

TEST_P(TensorInt16UnitTest, ConvolvesToInt16) {
  TensorCommand command = Command();
  const TensorInt16Output output = {.pad = -777, .zero = 1000, .low = -20'000, .high = 20'000};
  SetInt16Output(output, command);
  const auto found = UnpackInt16Tensor(Run(command, TensorHalfBlocks(kOutputs, size_)), kOutputs, size_);
  const std::vector<std::int64_t> sums = Sums(output.pad);
  ASSERT_EQ(found.size(), sums.size());
  int inner = 0;
  for (std::size_t at = 0; at < sums.size(); ++at) {
    ASSERT_EQ(found[at], Int16OutputOf(sums[at], channels_[at / kOutPixels], output)) << at;
    inner += found[at] > output.low && found[at] < output.high;
  }
  EXPECT_GT(inner, 100);
}

TEST_P(TensorInt16UnitTest, ConvolvesToInt32) {
  TensorCommand command = Command();
  command.flags = kTensorInt32;
  const auto found = UnpackInt32Tensor(Run(command, TensorQuarterBlocks(kOutputs, size_)), kOutputs, size_);
  const std::vector<std::int64_t> sums = Sums(0);
  ASSERT_EQ(found.size(), sums.size());
  for (std::size_t at = 0; at < sums.size(); ++at) {
    ASSERT_EQ(found[at], Int32OutputOf(sums[at], channels_[at / kOutPixels])) << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, TensorInt16UnitTest, testing::Values(8u, 16u, 32u));

TEST(Int16CommandTest, KeepsItsLimits) {
  TensorCommand command = {.opcode = TensorOpcode::kConvolve};
  SetInt16Output({.pad = 0x1234, .zero = -2, .low = -32768, .high = 0x4def}, command);
  EXPECT_EQ(EncodeTensorCommand(command)[6], 0x4def'8000'fffe'1234u);
  EXPECT_EQ(Int16Output(command).pad, 0x1234);
  EXPECT_EQ(Int16Output(command).zero, -2);
  EXPECT_EQ(Int16Output(command).low, -32768);
  EXPECT_EQ(Int16Output(command).high, 0x4def);
  EXPECT_EQ(command.opcode, TensorOpcode::kConvolve);
}

}  // namespace
}  // namespace tributary::fpga
