#include "fpga/model/tensor_int16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_timing.h"
#include "fpga/model/tensor_unit.h"

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

class TensorInt16UnitTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  static constexpr std::uint32_t kInputs = 19, kOutputs = 21;
  static constexpr int kHeight = 7, kWidth = 9, kOutHeight = 4, kOutWidth = 5, kTaps = 9;
  static constexpr std::uint32_t kOutPixels = kOutHeight * kOutWidth, kOutputAddress = 1000;

  std::vector<std::int16_t> Randoms(std::size_t count) {
    std::vector<std::int16_t> values(count);
    for (std::int16_t& value : values) value = static_cast<std::int16_t>(random_());
    return values;
  }

  // 3×3 with stride 2 and a padding of one.
  TensorCommand Command() const {
    return {.input_plane = kHeight * kWidth,
            .input_height = kHeight,
            .input_width = kWidth,
            .origin_y = -1,
            .origin_x = -1,
            .output_height = kOutHeight,
            .output_width = kOutWidth,
            .kernel_height = 3,
            .kernel_width = 3,
            .stride_y = 2,
            .stride_x = 2,
            .output_address = kOutputAddress,
            .output_plane = kOutPixels};
  }

  // Runs the command on random values and returns the words of `blocks` planes of results.
  std::vector<std::uint64_t> Run(const TensorCommand& command, std::uint32_t blocks) {
    inputs_ = Randoms(kInputs * kHeight * kWidth);
    weights_ = Randoms(kOutputs * kInputs * kTaps);
    channels_.clear();
    for (std::uint32_t i = 0; i < kOutputs; ++i) {
      channels_.push_back(*Int16ChannelOf(std::ldexp(1.0 + 0.01 * i, -18)));
      channels_.back().bias = static_cast<std::int64_t>(random_()) >> 30;
    }
    const std::vector<std::uint64_t> words = PackInt16Tensor(inputs_, kInputs, size_);
    TensorProgramBuilder program(size_);
    program.Load(0, 0, static_cast<std::uint32_t>(words.size()) / size_.vector_words());
    EXPECT_TRUE(program.ConvolveInt16(command, kOutputs, kInputs, weights_, channels_).ok());
    program.Store(kOutputAddress, 0, blocks * kOutPixels);
    program.End();
    std::vector<std::uint64_t> output(std::size_t{blocks} * kOutPixels * size_.vector_words());
    EXPECT_TRUE(CheckTensorProgram(program.words(), size_, {words.size(), output.size()}).ok());
    EXPECT_EQ(TensorUnit(size_).Run(program.words(), words, output).status, TensorStatus::kOk);
    return output;
  }

  // [output][pixel], from the definition of a convolution.
  std::vector<std::int64_t> Sums(std::int16_t pad) const {
    std::vector<std::int64_t> sums(kOutputs * kOutPixels);
    for (std::size_t at = 0; at < sums.size(); ++at) {
      const int y = static_cast<int>(at % kOutPixels) / kOutWidth,
                x = static_cast<int>(at % kOutPixels) % kOutWidth;
      for (std::size_t i = 0; i < kInputs * kTaps; ++i) {
        const int row = 2 * y - 1 + static_cast<int>(i) % kTaps / 3,
                  column = 2 * x - 1 + static_cast<int>(i) % 3;
        const bool outside = row < 0 || row >= kHeight || column < 0 || column >= kWidth;
        const std::size_t place =
            i / kTaps * kHeight * kWidth + static_cast<std::size_t>(row * kWidth + column);
        sums[at] +=
            std::int64_t{outside ? pad : inputs_[place]} * weights_[at / kOutPixels * kInputs * kTaps + i];
      }
    }
    return sums;
  }

  TensorUnitSize size_ = {.lanes = GetParam(), .int16 = true};
  std::mt19937_64 random_{GetParam()};
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

TEST_P(TensorInt16UnitTest, PacksTensorsWithZerosBehindTheLastChannel) {
  const std::vector<std::int16_t> values = Randoms(kInputs * 6);
  const std::vector<std::uint64_t> words = PackInt16Tensor(values, kInputs, size_);
  const std::uint32_t blocks = TensorHalfBlocks(kInputs, size_);
  EXPECT_EQ(words.size(), std::size_t{blocks} * 6 * size_.vector_words());
  EXPECT_EQ(UnpackInt16Tensor(words, kInputs, size_), values);
  const auto all = UnpackInt16Tensor(words, blocks * size_.half_lanes(), size_);
  EXPECT_EQ(std::count(all.begin() + static_cast<std::ptrdiff_t>(values.size()), all.end(), 0),
            static_cast<std::ptrdiff_t>(all.size() - values.size()));
  // Channel 1 of the first pixel is the second number of the first word.
  EXPECT_EQ(static_cast<std::int16_t>(words[0] >> 16), values[6]);
}

TEST_P(TensorInt16UnitTest, ComputesWithAQuarterOfTheProductsOfInt8) {
  TensorCommand command = {.opcode = TensorOpcode::kConvolve,
                           .input_blocks = 8,
                           .output_blocks = 2,
                           .output_height = 16,
                           .output_width = 64,
                           .kernel_height = 3,
                           .kernel_width = 3};
  // A block of each side has that many lanes.
  const auto products_a_cycle = [&](std::size_t lanes) {
    TensorTiming timing(size_);
    timing.Add(command);
    return static_cast<double>(lanes * lanes) / static_cast<double>(timing.cycles());
  };
  const double int8 = products_a_cycle(size_.lanes);
  command.precision = TensorPrecision::kInt16;
  EXPECT_NEAR(products_a_cycle(size_.half_lanes()), int8 / 4, int8 / 100);
}

INSTANTIATE_TEST_SUITE_P(Lanes, TensorInt16UnitTest, testing::Values(8u, 16u, 32u));

class Int16CommandTest : public testing::Test {
 protected:
  static TensorCommand Command() {
    return {.opcode = TensorOpcode::kConvolve,
            .precision = TensorPrecision::kInt16,
            .input_blocks = 1,
            .output_blocks = 2,
            .input_height = 1,
            .input_width = 4,
            .output_height = 1,
            .output_width = 4,
            .kernel_height = 1,
            .kernel_width = 1,
            .stride_y = 1,
            .stride_x = 1,
            .output_address = 32,
            .output_plane = 8};
  }
  TensorStatus Check(const TensorCommand& command) const { return CheckTensorCommand(command, size_, {}); }

  TensorUnitSize size_ = {.lanes = 8, .activations = 64, .kept = 64, .int16 = true};
};

TEST_F(Int16CommandTest, IsRefusedWhereItIsNotBuilt) {
  TensorCommand bfloat = Command();
  bfloat.precision = TensorPrecision::kBfloat16;
  EXPECT_EQ(Check(Command()), TensorStatus::kOk);
  EXPECT_EQ(Check(bfloat), TensorStatus::kBadField);
  size_.int16 = false;
  size_.bfloat16 = true;
  EXPECT_EQ(Check(Command()), TensorStatus::kBadField);
  EXPECT_EQ(Check(bfloat), TensorStatus::kOk);
}

TEST_F(Int16CommandTest, IsAConvolutionWithoutAResidual) {
  for (const TensorOpcode opcode :
       {TensorOpcode::kEnd, TensorOpcode::kLoad, TensorOpcode::kStore, TensorOpcode::kDepthwise,
        TensorOpcode::kMaxPool, TensorOpcode::kSumPool, TensorOpcode::kKeep}) {
    TensorCommand command = Command();
    command.opcode = opcode;
    EXPECT_EQ(Check(command), TensorStatus::kBadField);
  }
  for (const int flags : {int{kTensorResidual}, 32, 0x8000}) {
    TensorCommand command = Command();
    command.flags = static_cast<std::uint16_t>(flags);
    EXPECT_EQ(Check(command), TensorStatus::kBadField);
  }
  TensorCommand command = Command();
  command.precision = static_cast<TensorPrecision>(5);
  EXPECT_EQ(Check(command), TensorStatus::kBadField);
}

TEST_F(Int16CommandTest, Int32TakesTwiceThePlanes) {
  TensorCommand command = Command();
  command.output_address = 64 - 8 - 4;
  EXPECT_EQ(Check(command), TensorStatus::kOk);
  command.flags = kTensorInt32;
  EXPECT_EQ(Check(command), TensorStatus::kBadAddress);
  command.output_address = 64 - 3 * 8 - 4;
  EXPECT_EQ(Check(command), TensorStatus::kOk);
  command.output_address += 1;
  EXPECT_EQ(Check(command), TensorStatus::kBadAddress);
}

TEST_F(Int16CommandTest, KeptWordsAreThoseOfItsTilesAndChannels) {
  TensorCommand command = Command();
  EXPECT_EQ(TensorWeightWords(command, size_), 2u * (4 + 8));
  command.flags = kTensorKept;
  command.kept_address = 64 - 24;
  EXPECT_EQ(Check(command), TensorStatus::kOk);
  command.kept_address += 1;
  EXPECT_EQ(Check(command), TensorStatus::kBadAddress);
}

TEST_F(Int16CommandTest, KeepsItsLimits) {
  TensorCommand command = Command();
  SetInt16Output({.pad = 0x1234, .zero = -2, .low = -32768, .high = 0x4def}, command);
  EXPECT_EQ(EncodeTensorCommand(command)[6], 0x4def'8000'fffe'1234u);
  EXPECT_EQ(Int16Output(command).pad, 0x1234);
  EXPECT_EQ(Int16Output(command).zero, -2);
  EXPECT_EQ(Int16Output(command).low, -32768);
  EXPECT_EQ(Int16Output(command).high, 0x4def);
  EXPECT_EQ(command.opcode, TensorOpcode::kConvolve);
}

TEST_F(Int16CommandTest, ABuilderRefusesAWrongNumberOfWeights) {
  TensorProgramBuilder program(size_);
  const std::vector<std::int16_t> weights(6);
  const std::vector<TensorInt16Channel> channels(3);
  EXPECT_FALSE(program.ConvolveInt16(Command(), 3, 3, weights, channels).ok());
  EXPECT_FALSE(program.ConvolveInt16(Command(), 3, 2, weights, std::span(channels).first(2)).ok());
  EXPECT_TRUE(program.words().empty());
  EXPECT_TRUE(program.ConvolveInt16(Command(), 3, 2, weights, channels).ok());
  EXPECT_EQ(program.words().size(), kTensorCommandWords + 4 + 8);
}

}  // namespace
}  // namespace tributary::fpga
