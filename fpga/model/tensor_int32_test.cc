#include "fpga/model/tensor_int32.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "fpga/model/tensor_unit_fixture.h"

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

class TensorInt32UnitTest : public TensorConvolutionTest {
 protected:
  // Runs the command on random values and returns the words of `planes` planes of results.
  std::vector<std::uint64_t> Run(const TensorCommand& command, std::uint32_t planes) {
    inputs_ = RandomIntegers<std::int32_t>(kInputCount);
    weights_ = RandomIntegers<std::int32_t>(kWeightCount);
    for (std::uint32_t i = 0; i < kOutputs; ++i) {
      channels_.push_back(*Int32ChannelOf(std::ldexp(1.0 + 0.01 * i, -34)));
      channels_.back().bias = static_cast<std::int64_t>(random_());
    }
    return RunOn(PackInt32Tensor(inputs_, kInputs, size_), planes, [&](TensorProgramBuilder& program) {
      return program.ConvolveInt32(command, kOutputs, kInputs, weights_, channels_);
    });
  }
  std::vector<absl::int128> Sums() const {
    return SumsOf<absl::int128, std::int64_t>(inputs_, weights_, std::int32_t{0});
  }

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

INSTANTIATE_TEST_SUITE_P(Lanes, TensorInt32UnitTest, testing::Values(8u, 16u, 32u));

TEST(Int32CommandTest, KeepsItsLimits) {
  TensorCommand command = {.opcode = TensorOpcode::kConvolve};
  SetInt32Output({.low = -2, .high = 0x1234'5678}, command);
  EXPECT_EQ(EncodeTensorCommand(command)[6], 0x1234'5678'ffff'fffeu);
  EXPECT_EQ(Int32Output(command).low, -2);
  EXPECT_EQ(Int32Output(command).high, 0x1234'5678);
  EXPECT_EQ(command.opcode, TensorOpcode::kConvolve);
}

}  // namespace
}  // namespace tributary::fpga
