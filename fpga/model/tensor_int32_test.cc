#include "fpga/model/tensor_int32.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_timing.h"
#include "fpga/model/tensor_unit.h"

namespace tributary::fpga {
namespace {

constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();

TEST(Int32OutputTest, IsWithinItsSlackOfExactRounding) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-22.0, 1.0), result(kLeast, kMost);
  int differ = 0;
  constexpr int kTries = 200'000;
  for (int i = 0; i < kTries; ++i) {
    const double scale = std::exp2(exponent(random));
    const auto sum = static_cast<std::int64_t>(result(random) / scale);
    // What the product of 64 bits rounds is far below the slack.
    const long double exact = static_cast<long double>(scale) * static_cast<long double>(sum);
    const long double expected = std::clamp<long double>(std::nearbyint(exact), kLeast, kMost);
    const std::int32_t shown = Int32ScaledOutputOf(sum, *Int32ChannelOf(scale), {});
    if (shown == expected) continue;
    ++differ;
    ASSERT_EQ(std::abs(shown - expected), 1.0L);
    ASSERT_LE(std::abs(std::abs(exact - std::trunc(exact)) - 0.5L),
              Int32RoundingSlack(static_cast<double>(exact)))
        << scale << " " << sum;
  }
  EXPECT_GT(differ, 0);
  EXPECT_LT(differ, kTries / 8);
}

TEST(Int32OutputTest, RoundsExactTiesToEven) {
  const TensorInt32Channel quarter = *Int32ChannelOf(0.25);
  for (std::int64_t sum = -100'000; sum <= 100'000; ++sum) {
    for (const std::int64_t from : {std::int64_t{0}, std::int64_t{4} * kMost}) {
      const double exact = 0.25 * static_cast<double>(from + sum);
      EXPECT_EQ(Int32ScaledOutputOf(from + sum, quarter, {}),
                std::clamp<double>(std::nearbyint(exact), kLeast, kMost));
    }
  }
  EXPECT_FALSE(Int32ChannelOf(0.0).ok());
  EXPECT_FALSE(Int32ChannelOf(std::nan("")).ok());
  EXPECT_FALSE(Int32ChannelOf(2.0).ok());
}

TEST(Int32OutputTest, LimitsSumsOfAnySize) {
  TensorInt32Channel channel = *Int32ChannelOf(0x1p-60);
  const TensorInt32Output output = {.low = -5, .high = 1'000'000};
  EXPECT_EQ(Int32ScaledOutputOf(absl::int128{7} << 60, channel, output), 7);
  EXPECT_EQ(Int32ScaledOutputOf(absl::int128{1} << 88, channel, output), 1'000'000);
  EXPECT_EQ(Int32ScaledOutputOf(-(absl::int128{1} << 88), channel, output), -5);
  EXPECT_EQ(Int32ScaledOutputOf(absl::int128{1} << 88, channel, {}), 1 << 28);
  channel.bias = -(absl::int128{1} << 87);
  EXPECT_EQ(Int32ScaledOutputOf(absl::int128{1} << 86, channel, {}), -(1 << 26));
}

TEST(Int32OutputTest, ChannelsKeepTheirFields) {
  const TensorInt32Channel channel = {
      .bias = -(absl::int128{1} << 87) + 5, .multiplier = 0x3'1234'5678, .shift = 63};
  const auto words = EncodeInt32Channel(channel);
  EXPECT_EQ(words[0], 5u);
  EXPECT_EQ(words[1], 0x80'0000'0000u);
  EXPECT_EQ(words[2], channel.multiplier);
  EXPECT_EQ(words[3], 63u);
  const TensorInt32Channel decoded = DecodeInt32Channel(words);
  EXPECT_TRUE(decoded.bias == channel.bias);
  EXPECT_EQ(decoded.multiplier, channel.multiplier);
  EXPECT_EQ(decoded.shift, channel.shift);
}

class TensorInt32UnitTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  static constexpr std::uint32_t kInputs = 19, kOutputs = 21;
  static constexpr int kHeight = 7, kWidth = 9, kOutHeight = 4, kOutWidth = 5, kTaps = 9;
  static constexpr std::uint32_t kOutPixels = kOutHeight * kOutWidth, kOutputAddress = 1000;

  std::vector<std::int32_t> Randoms(std::size_t count) {
    std::vector<std::int32_t> values(count);
    for (std::int32_t& value : values) value = static_cast<std::int32_t>(random_());
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
      channels_.push_back(*Int32ChannelOf(std::ldexp(1.0 + 0.01 * i, -34)));
      channels_.back().bias = static_cast<std::int64_t>(random_());
    }
    const std::vector<std::uint64_t> words = PackInt32Tensor(inputs_, kInputs, size_);
    TensorProgramBuilder program(size_);
    program.Load(0, 0, static_cast<std::uint32_t>(words.size()) / size_.vector_words());
    EXPECT_TRUE(program.ConvolveInt32(command, kOutputs, kInputs, weights_, channels_).ok());
    program.Store(kOutputAddress, 0, blocks * kOutPixels);
    program.End();
    std::vector<std::uint64_t> output(std::size_t{blocks} * kOutPixels * size_.vector_words());
    EXPECT_TRUE(CheckTensorProgram(program.words(), size_, {words.size(), output.size()}).ok());
    EXPECT_EQ(TensorUnit(size_).Run(program.words(), words, output).status, TensorStatus::kOk);
    return output;
  }

  // [output][pixel], from the definition of a convolution.
  std::vector<absl::int128> Sums() const {
    std::vector<absl::int128> sums(kOutputs * kOutPixels);
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
            std::int64_t{outside ? 0 : inputs_[place]} * weights_[at / kOutPixels * kInputs * kTaps + i];
      }
    }
    return sums;
  }

  TensorUnitSize size_ = {.lanes = GetParam(), .int32 = true};
  std::mt19937_64 random_{GetParam()};
  std::vector<std::int32_t> inputs_, weights_;
  std::vector<TensorInt32Channel> channels_;
};

TEST_P(TensorInt32UnitTest, ConvolvesWithinLimits) {
  TensorCommand command = Command();
  const TensorInt32Output output = {.low = -2'000'000, .high = 1'000'000'000};
  SetInt32Output(output, command);
  const auto found = UnpackInt32Tensor(Run(command, TensorQuarterBlocks(kOutputs, size_)), kOutputs, size_);
  const std::vector<absl::int128> sums = Sums();
  ASSERT_EQ(found.size(), sums.size());
  int inner = 0;
  for (std::size_t at = 0; at < sums.size(); ++at) {
    ASSERT_EQ(found[at], Int32ScaledOutputOf(sums[at], channels_[at / kOutPixels], output)) << at;
    inner += found[at] > output.low && found[at] < output.high;
  }
  EXPECT_GT(inner, 50);
}

TEST_P(TensorInt32UnitTest, PacksTensorsWithZerosBehindTheLastChannel) {
  const std::vector<std::int32_t> values = Randoms(kInputs * 6);
  const std::vector<std::uint64_t> words = PackInt32Tensor(values, kInputs, size_);
  const std::uint32_t blocks = TensorQuarterBlocks(kInputs, size_);
  EXPECT_EQ(words.size(), std::size_t{blocks} * 6 * size_.vector_words());
  EXPECT_EQ(UnpackInt32Tensor(words, kInputs, size_), values);
  const auto all = UnpackInt32Tensor(words, blocks * size_.quarter_lanes(), size_);
  EXPECT_EQ(std::count(all.begin() + static_cast<std::ptrdiff_t>(values.size()), all.end(), 0),
            static_cast<std::ptrdiff_t>(all.size() - values.size()));
  // Channel 1 of the first pixel is the second number of the first word.
  EXPECT_EQ(static_cast<std::int32_t>(words[0] >> 32), values[6]);
}

TEST_P(TensorInt32UnitTest, ComputesWithASixteenthOfTheProductsOfInt8) {
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
  command.precision = TensorPrecision::kInt32;
  EXPECT_NEAR(products_a_cycle(size_.quarter_lanes()), int8 / 16, int8 / 400);
}

INSTANTIATE_TEST_SUITE_P(Lanes, TensorInt32UnitTest, testing::Values(8u, 16u, 32u));

class Int32CommandTest : public testing::Test {
 protected:
  static TensorCommand Command() {
    return {.opcode = TensorOpcode::kConvolve,
            .precision = TensorPrecision::kInt32,
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

  TensorUnitSize size_ = {.lanes = 8, .activations = 64, .kept = 64, .int32 = true};
};

TEST_F(Int32CommandTest, IsRefusedWhereItIsNotBuilt) {
  TensorCommand bfloat = Command();
  bfloat.precision = TensorPrecision::kBfloat16;
  EXPECT_EQ(Check(Command()), TensorStatus::kOk);
  EXPECT_EQ(Check(bfloat), TensorStatus::kBadField);
  size_.int32 = false;
  size_.bfloat16 = true;
  EXPECT_EQ(Check(Command()), TensorStatus::kBadField);
  EXPECT_EQ(Check(bfloat), TensorStatus::kOk);
}

TEST_F(Int32CommandTest, IsAConvolutionWithoutAResidual) {
  for (const TensorOpcode opcode :
       {TensorOpcode::kEnd, TensorOpcode::kLoad, TensorOpcode::kStore, TensorOpcode::kDepthwise,
        TensorOpcode::kMaxPool, TensorOpcode::kSumPool, TensorOpcode::kKeep}) {
    TensorCommand command = Command();
    command.opcode = opcode;
    EXPECT_EQ(Check(command), TensorStatus::kBadField);
  }
  for (const int flags : {int{kTensorResidual}, int{kTensorInt32}, 32, 0x8000}) {
    TensorCommand command = Command();
    command.flags = static_cast<std::uint32_t>(flags);
    EXPECT_EQ(Check(command), TensorStatus::kBadField);
  }
  TensorCommand command = Command();
  command.precision = static_cast<TensorPrecision>(5);
  EXPECT_EQ(Check(command), TensorStatus::kBadField);
}

TEST_F(Int32CommandTest, KeptWordsAreThoseOfItsTilesAndChannels) {
  TensorCommand command = Command();
  EXPECT_EQ(TensorWeightWords(command, size_), 2u * (2 + 8));
  command.flags = kTensorKept;
  command.kept_address = 64 - 20;
  EXPECT_EQ(Check(command), TensorStatus::kOk);
  command.kept_address += 1;
  EXPECT_EQ(Check(command), TensorStatus::kBadAddress);
}

TEST_F(Int32CommandTest, KeepsItsLimits) {
  TensorCommand command = Command();
  SetInt32Output({.low = -2, .high = 0x1234'5678}, command);
  EXPECT_EQ(EncodeTensorCommand(command)[6], 0x1234'5678'ffff'fffeu);
  EXPECT_EQ(Int32Output(command).low, -2);
  EXPECT_EQ(Int32Output(command).high, 0x1234'5678);
  EXPECT_EQ(command.opcode, TensorOpcode::kConvolve);
}

TEST_F(Int32CommandTest, ABuilderRefusesAWrongNumberOfWeights) {
  TensorProgramBuilder program(size_);
  const std::vector<std::int32_t> weights(6);
  const std::vector<TensorInt32Channel> channels(3);
  EXPECT_FALSE(program.ConvolveInt32(Command(), 3, 3, weights, channels).ok());
  EXPECT_FALSE(program.ConvolveInt32(Command(), 3, 2, weights, std::span(channels).first(2)).ok());
  EXPECT_TRUE(program.words().empty());
  EXPECT_TRUE(program.ConvolveInt32(Command(), 3, 2, weights, channels).ok());
  EXPECT_EQ(program.words().size(), kTensorCommandWords + 2 * (2 + 8));
}

}  // namespace
}  // namespace tributary::fpga
