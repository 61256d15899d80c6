#include "fpga/model/tensor_unit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_timing.h"

namespace tributary::fpga {
namespace {

class TensorUnitTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  std::int8_t Random(int low = -128, int high = 127) {
    return static_cast<std::int8_t>(std::uniform_int_distribution<int>(low, high)(random_));
  }
  std::vector<std::int8_t> Randoms(std::size_t count, int low = -128, int high = 127) {
    std::vector<std::int8_t> values(count);
    for (std::int8_t& value : values) value = Random(low, high);
    return values;
  }
  std::vector<TensorChannel> Channels(std::uint32_t count, double scale) {
    std::vector<TensorChannel> channels;
    for (std::uint32_t i = 0; i < count; ++i) {
      channels.push_back(*TensorChannelOf(scale * (1.0 + 0.01 * i)));
      channels.back().bias = Random() * 50;
    }
    return channels;
  }

  // Runs a program on an input of [channels][pixels] at address 0 and returns [outputs][pixels] from `at`.
  std::vector<std::int8_t> RunOn(const std::vector<std::int8_t>& input, std::uint32_t channels,
                                 std::uint32_t outputs, std::uint32_t output_pixels, std::uint32_t at,
                                 const std::function<void(TensorProgramBuilder&)>& commands) {
    const std::vector<std::uint64_t> words = PackTensor(input, channels, size_);
    const std::uint32_t vectors = TensorBlocks(outputs, size_) * output_pixels;
    TensorProgramBuilder program(size_);
    program.Load(0, 0, static_cast<std::uint32_t>(words.size()) / size_.vector_words());
    commands(program);
    program.Store(at, 0, vectors);
    program.End();
    std::vector<std::uint64_t> output(std::size_t{vectors} * size_.vector_words());
    EXPECT_TRUE(CheckTensorProgram(program.words(), size_, {words.size(), output.size()}).ok());
    TensorUnit unit(size_);
    const TensorRun run = unit.Run(program.words(), words, output);
    EXPECT_EQ(run.status, TensorStatus::kOk);
    EXPECT_EQ(run.command + 1, program.commands());
    return UnpackTensor(output, outputs, size_);
  }

  TensorUnitSize size_ = {.lanes = GetParam()};
  std::mt19937_64 random_{GetParam()};
};

std::int32_t At(const std::vector<std::int8_t>& image, int channel, int height, int width, int y, int x,
                std::int32_t pad) {
  if (y < 0 || y >= height || x < 0 || x >= width) return pad;
  return image[static_cast<std::size_t>((channel * height + y) * width + x)];
}

TEST_P(TensorUnitTest, ConvolvesAsTheSumSays) {
  constexpr int kInChannels = 19, kOutChannels = 21, kHeight = 7, kWidth = 9, kOutHeight = 4, kOutWidth = 5;
  const auto input = Randoms(kInChannels * kHeight * kWidth);
  const auto weights = Randoms(kOutChannels * kInChannels * 9, -127, 127);
  const auto channels = Channels(kOutChannels, 1.0 / 900);
  const TensorCommand command = {.input_plane = kHeight * kWidth,
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
                                 .output_address = 1000,
                                 .output_plane = kOutHeight * kOutWidth,
                                 .pad_value = 5,
                                 .output = {.zero = -3, .low = -100, .high = 99}};
  const auto output =
      RunOn(input, kInChannels, kOutChannels, kOutHeight * kOutWidth, 1000, [&](auto& program) {
        ASSERT_TRUE(program.Convolve(command, kOutChannels, kInChannels, weights, channels).ok());
      });
  for (int o = 0; o < kOutChannels; ++o) {
    for (int y = 0; y < kOutHeight; ++y) {
      for (int x = 0; x < kOutWidth; ++x) {
        std::int32_t sum = 0;
        for (int i = 0; i < kInChannels; ++i) {
          for (int tap = 0; tap < 9; ++tap) {
            sum += At(input, i, kHeight, kWidth, 2 * y - 1 + tap / 3, 2 * x - 1 + tap % 3, 5) *
                   weights[static_cast<std::size_t>((o * kInChannels + i) * 9 + tap)];
          }
        }
        const std::size_t at = static_cast<std::size_t>((o * kOutHeight + y) * kOutWidth + x);
        ASSERT_EQ(output[at],
                  TensorOutputOf(sum, channels[static_cast<std::size_t>(o)], command.output, false, 0))
            << o << " " << y << " " << x;
      }
    }
  }
}

TEST_P(TensorUnitTest, ConvolvesDepthwiseInPlace) {
  constexpr int kChannels = 37, kHeight = 6, kWidth = 8;
  const auto input = Randoms(kChannels * kHeight * kWidth);
  const auto weights = Randoms(kChannels * 9, -127, 127);
  const auto channels = Channels(kChannels, 1.0 / 300);
  for (const int stride : {1, 2}) {
    const int out_height = kHeight / stride, out_width = kWidth / stride;
    TensorCommand command = {.input_plane = kHeight * kWidth,
                             .input_height = kHeight,
                             .input_width = kWidth,
                             .origin_y = -1,
                             .origin_x = -1,
                             .output_height = static_cast<std::uint16_t>(out_height),
                             .output_width = static_cast<std::uint16_t>(out_width),
                             .stride_y = static_cast<std::uint8_t>(stride),
                             .stride_x = static_cast<std::uint8_t>(stride),
                             .output_plane = static_cast<std::uint32_t>(out_height * out_width),
                             .pad_value = -7};
    const auto output =
        RunOn(input, kChannels, kChannels, static_cast<std::uint32_t>(out_height * out_width), 0,
              [&](auto& program) { ASSERT_TRUE(program.Depthwise(command, weights, channels).ok()); });
    for (int c = 0; c < kChannels; ++c) {
      for (int at = 0; at < out_height * out_width; ++at) {
        std::int32_t sum = 0;
        for (int tap = 0; tap < 9; ++tap) {
          sum += At(input, c, kHeight, kWidth, at / out_width * stride - 1 + tap / 3,
                    at % out_width * stride - 1 + tap % 3, -7) *
                 weights[static_cast<std::size_t>(c * 9 + tap)];
        }
        ASSERT_EQ(output[static_cast<std::size_t>(c * out_height * out_width + at)],
                  TensorOutputOf(sum, channels[static_cast<std::size_t>(c)], command.output, false, 0));
      }
    }
  }
}

TEST_P(TensorUnitTest, PoolsAndAverages) {
  constexpr int kChannels = 11, kSide = 8;
  const auto input = Randoms(kChannels * kSide * kSide);
  for (const TensorOpcode opcode : {TensorOpcode::kMaxPool, TensorOpcode::kSumPool}) {
    for (const int window : {2, kSide}) {
      const int out = kSide / window;
      std::vector<TensorChannel> channels(kChannels, opcode == TensorOpcode::kMaxPool
                                                         ? kTensorIdentity
                                                         : *TensorChannelOf(1.0 / (window * window)));
      const TensorCommand command = {.opcode = opcode,
                                     .input_plane = kSide * kSide,
                                     .input_height = kSide,
                                     .input_width = kSide,
                                     .output_height = static_cast<std::uint16_t>(out),
                                     .output_width = static_cast<std::uint16_t>(out),
                                     .kernel_height = static_cast<std::uint8_t>(window),
                                     .kernel_width = static_cast<std::uint8_t>(window),
                                     .stride_y = static_cast<std::uint8_t>(window),
                                     .stride_x = static_cast<std::uint8_t>(window),
                                     .output_address = 512,
                                     .output_plane = static_cast<std::uint32_t>(out * out)};
      const auto output = RunOn(input, kChannels, kChannels, static_cast<std::uint32_t>(out * out), 512,
                                [&](auto& program) { ASSERT_TRUE(program.Pool(command, channels).ok()); });
      for (int c = 0; c < kChannels; ++c) {
        for (int at = 0; at < out * out; ++at) {
          int largest = -128, sum = 0;
          for (int i = 0; i < window * window; ++i) {
            const int value =
                At(input, c, kSide, kSide, at / out * window + i / window, at % out * window + i % window, 0);
            largest = std::max(largest, value), sum += value;
          }
          const double expected = opcode == TensorOpcode::kMaxPool
                                      ? largest
                                      : std::nearbyint(static_cast<double>(sum) / (window * window));
          ASSERT_EQ(output[static_cast<std::size_t>(c * out * out + at)], expected);
        }
      }
    }
  }
}

TEST_P(TensorUnitTest, AddsTwoTensorsAsOnnxDoes) {
  constexpr int kPixels = 200;
  const std::uint32_t channel_count = GetParam();  // the second tensor begins with a block
  const auto input = Randoms(std::size_t{2} * channel_count * kPixels);
  const std::uint32_t plane = kPixels;
  const std::uint32_t second = TensorBlocks(channel_count, size_) * plane;
  // x: scale 0.02, zero 3; y: scale 0.013, zero -9; result: scale 0.025, zero 1, then ReLU.
  std::vector<TensorChannel> channels(channel_count, kTensorIdentity);
  for (TensorChannel& channel : channels) channel.bias = -3;
  TensorCommand command = {.opcode = TensorOpcode::kMaxPool,
                           .flags = kTensorResidual,
                           .input_plane = plane,
                           .input_height = 1,
                           .input_width = kPixels,
                           .output_height = 1,
                           .output_width = kPixels,
                           .kernel_height = 1,
                           .kernel_width = 1,
                           .stride_y = 1,
                           .stride_x = 1,
                           .output_address = 2 * second,
                           .output_plane = plane,
                           .residual_address = second,
                           .residual_plane = plane};
  command.output = {.zero = 3, .residual_zero = -9, .sum_zero = 1, .sum_low = 1};
  ASSERT_TRUE(SetTensorSum(0.02 / 0.025, 0.013 / 0.025, command.output).ok());
  const auto x = std::vector<std::int8_t>(input.begin(), input.begin() + channel_count * kPixels);
  const auto y = std::vector<std::int8_t>(input.begin() + channel_count * kPixels, input.end());
  const auto output = RunOn(input, 2 * channel_count, channel_count, kPixels, 2 * second,
                            [&](auto& program) { ASSERT_TRUE(program.Pool(command, channels).ok()); });
  int differ = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const double exact = (x[i] - 3) * 0.02 / 0.025 + (y[i] + 9) * 0.013 / 0.025;
    const double expected = std::clamp(std::nearbyint(exact) + 1, 1.0, 127.0);
    ASSERT_LE(std::abs(output[i] - expected), 1.0);
    differ += output[i] != expected;
  }
  EXPECT_LE(differ, static_cast<int>(output.size() / 50));
}

TEST_P(TensorUnitTest, KeepsWeightsOverRuns) {
  TensorProgramBuilder program(size_);
  const std::uint32_t channels = 2 * GetParam();
  TensorCommand command = {.input_plane = 16,
                           .input_height = 4,
                           .input_width = 4,
                           .output_height = 4,
                           .output_width = 4,
                           .kernel_height = 3,
                           .kernel_width = 3,
                           .stride_y = 1,
                           .stride_x = 1,
                           .output_address = 32,
                           .output_plane = 16};
  program.Load(0, 0, 32);
  for (const std::uint32_t outputs : {channels, channels, channels}) {
    ASSERT_TRUE(program
                    .Convolve(command, outputs, channels,
                              Randoms(std::size_t{9} * outputs * channels, -127, 127),
                              Channels(outputs, 0.001))
                    .ok());
    command.input_address = command.output_address, command.output_address += 32;
  }
  program.Store(96, 0, 32);
  program.End();
  // Room for two of three layers.
  size_.kept = static_cast<std::uint32_t>(program.words().size()) * 3 / 4;
  const KeptTensorProgram kept = KeepTensorWeights(program.words(), size_);
  EXPECT_GT(kept.kept_words, size_.kept / 2);
  EXPECT_EQ(kept.later.size() + kept.kept_words, program.words().size());
  std::vector<std::uint64_t> input(std::size_t{32} * size_.vector_words()), expected(input.size());
  for (std::uint64_t& word : input) word = random_();
  TensorUnit plain(size_), unit(size_);
  EXPECT_EQ(plain.Run(program.words(), input, expected).status, TensorStatus::kOk);
  for (const auto* part : {&kept.first, &kept.later, &kept.later}) {
    std::vector<std::uint64_t> output(input.size());
    EXPECT_TRUE(CheckTensorProgram(*part, size_, {input.size(), output.size()}).ok());
    EXPECT_EQ(unit.Run(*part, input, output).status, TensorStatus::kOk);
    EXPECT_EQ(output, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, TensorUnitTest, testing::Values(8u, 16u, 32u));

TEST(TensorOutputTest, IsWithinItsSlackOfExactRounding) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-22.0, 1.0), result(-256.0, 256.0);
  int differ = 0;
  constexpr int kTries = 200'000;
  for (int i = 0; i < kTries; ++i) {
    const double scale = std::exp2(exponent(random));
    const auto sum = static_cast<std::int32_t>(result(random) / scale);
    const TensorChannel channel = *TensorChannelOf(scale);
    const double exact = scale * sum;
    const int shown = TensorOutputOf(sum, channel, {}, false, 0);
    const double expected = std::clamp(std::nearbyint(exact), -128.0, 127.0);
    if (shown == expected) continue;
    ++differ;
    ASSERT_EQ(std::abs(shown - expected), 1.0);
    ASSERT_LE(std::abs(std::abs(exact - std::trunc(exact)) - 0.5), kTensorRoundingSlack)
        << scale << " " << sum;
  }
  EXPECT_GT(differ, 0);
  EXPECT_LT(differ, kTries / 100);
}

TEST(TensorOutputTest, RoundsExactTiesToEven) {
  const TensorChannel quarter = *TensorChannelOf(0.25);
  for (int sum = -500; sum <= 500; ++sum) {
    EXPECT_EQ(TensorOutputOf(sum, quarter, {}, false, 0),
              std::clamp(std::nearbyint(sum * 0.25), -128.0, 127.0));
  }
  EXPECT_FALSE(TensorChannelOf(0.0).ok());
  EXPECT_FALSE(TensorChannelOf(std::nan("")).ok());
  EXPECT_FALSE(TensorChannelOf(2.0).ok());
  TensorOutput output;
  EXPECT_FALSE(SetTensorSum(4.0, 1.0, output).ok());
  EXPECT_FALSE(SetTensorSum(1.0, std::nan(""), output).ok());
}

TEST(TensorProgramTest, CommandsKeepTheirFields) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 100; ++i) {
    std::array<std::uint64_t, kTensorCommandWords> words;
    for (std::uint64_t& word : words) word = random();
    EXPECT_EQ(EncodeTensorCommand(DecodeTensorCommand(words)), words);
  }
  const TensorCommand command = {
      .opcode = TensorOpcode::kConvolve, .origin_y = -2, .output = {.residual_multiplier = 9}};
  EXPECT_EQ(EncodeTensorCommand(command)[2], 0xfffe'0000'0000u);
  EXPECT_EQ(EncodeTensorCommand(command)[7], std::uint64_t{9} << 16);
}

// A small program whose every fault is refused by the check and by the unit alike.
class TensorFaultTest : public testing::Test {
 protected:
  TensorCommand Command() const {
    return {.input_plane = 16,
            .input_height = 4,
            .input_width = 4,
            .origin_y = -1,
            .origin_x = -1,
            .output_height = 4,
            .output_width = 4,
            .kernel_height = 3,
            .kernel_width = 3,
            .stride_y = 1,
            .stride_x = 1,
            .output_address = 16,
            .output_plane = 16};
  }

  void ExpectFault(const TensorCommand& command, TensorStatus status) {
    TensorProgramBuilder program(size_);
    program.Load(0, 0, 16);
    const std::vector<std::int8_t> weights(8 * 8 * 9, 1);
    TensorCommand shape = command;
    shape.kernel_height = shape.kernel_width = 3;
    ASSERT_TRUE(program.Convolve(shape, 8, 8, weights, std::vector<TensorChannel>(8)).ok());
    program.End();
    std::vector<std::uint64_t> words = program.words();
    TensorCommand faulty = command;
    if (faulty.opcode == TensorOpcode::kEnd) faulty.opcode = TensorOpcode::kConvolve;
    if (faulty.input_blocks == 0) faulty.input_blocks = 1;
    if (faulty.output_blocks == 0) faulty.output_blocks = 1;
    std::ranges::copy(EncodeTensorCommand(faulty), words.begin() + kTensorCommandWords);
    Expect(words, 1, status);
  }

  void Expect(std::span<const std::uint64_t> words, std::uint32_t command, TensorStatus status) {
    const std::vector<std::uint64_t> input(16);
    std::vector<std::uint64_t> output(16);
    EXPECT_EQ(CheckTensorProgram(words, size_, {16, 16}).ok(), status == TensorStatus::kOk);
    TensorUnit unit(size_);
    const TensorRun run = unit.Run(words, input, output);
    EXPECT_EQ(run.status, status);
    EXPECT_EQ(run.command, command);
  }

  TensorUnitSize size_ = {.lanes = 8, .activations = 64};
};

TEST_F(TensorFaultTest, NamesTheCommandAtFault) {
  const auto with = [this](auto change) {
    TensorCommand command = Command();
    change(command);
    return command;
  };
  using C = TensorCommand;
  for (const TensorCommand& bad : {
           with([](C& c) { c.opcode = static_cast<TensorOpcode>(8); }),
           with([](C& c) { c.precision = static_cast<TensorPrecision>(1); }),
           with([](C& c) { c.input_blocks = 257; }),
           with([](C& c) { c.output_blocks = 300; }),
           with([](C& c) { c.input_height = 0; }),
           with([](C& c) { c.input_width = 1025; }),
           with([](C& c) { c.output_height = 1025; }),
           with([](C& c) { c.output_width = 0; }),
           with([](C& c) { c.origin_x = -1024; }),
           with([](C& c) { c.origin_y = 1024; }),
           with([](C& c) { c.kernel_height = 0; }),
           with([](C& c) { c.stride_y = 9; }),
           with([](C& c) { c.stride_x = 0; }),
           with([](C& c) { c.input_address = 64; }),
           with([](C& c) { c.output_plane = 1 << 17; }),
           with([](C& c) { c.residual_address = 64; }),
           with([](C& c) { c.opcode = TensorOpcode::kDepthwise, c.stride_x = 3; }),
           with([](C& c) { c.opcode = TensorOpcode::kDepthwise, c.flags = kTensorResidual; }),
           with([](C& c) { c.opcode = TensorOpcode::kDepthwise, c.output_width = 511; }),
       }) {
    ExpectFault(bad, TensorStatus::kBadField);
  }
  ExpectFault(with([](C& c) { c.flags = 16; }), TensorStatus::kBadField);
  ExpectFault(with([](C& c) { c.flags = kTensorKept, c.kept_address = 8192 - 79; }),
              TensorStatus::kBadAddress);
  ExpectFault(with([](C& c) { c.input_address = 49; }), TensorStatus::kBadAddress);
  ExpectFault(with([](C& c) { c.input_blocks = 5; }), TensorStatus::kBadAddress);
  ExpectFault(with([](C& c) { c.output_address = 49; }), TensorStatus::kBadAddress);
  ExpectFault(with([](C& c) { c.residual_address = 49, c.flags = kTensorResidual; }),
              TensorStatus::kBadAddress);
  ExpectFault(with([](C& c) { c.output_height = 512, c.output_width = 3; }), TensorStatus::kBadAddress);
  ExpectFault(with([](C& c) { c.input_blocks = 2; }), TensorStatus::kProgramEnds);
}

TEST_F(TensorFaultTest, RefusesTransfersBeyondABuffer) {
  const auto refused = [this](auto append, TensorStatus status) {
    TensorProgramBuilder program(size_);
    append(program);
    program.End();
    Expect(program.words(), status == TensorStatus::kOk ? 1 : 0, status);
  };
  refused([](auto& p) { p.Load(0, 48, 16); }, TensorStatus::kOk);
  refused([](auto& p) { p.Load(0, 49, 16); }, TensorStatus::kBadAddress);
  refused([](auto& p) { p.Load(1, 0, 16); }, TensorStatus::kBadAddress);
  refused([](auto& p) { p.Load(0xffff'ffff, 0, 2); }, TensorStatus::kBadAddress);
  refused([](auto& p) { p.Load(0, 0, 0); }, TensorStatus::kBadAddress);
  refused([](auto& p) { p.Store(0, 0, 16); }, TensorStatus::kOk);
  refused([](auto& p) { p.Store(0, 1, 16); }, TensorStatus::kBadAddress);
  refused([](auto& p) { p.Store(0xffff'ffff, 0, 2); }, TensorStatus::kBadAddress);
}

TEST_F(TensorFaultTest, RefusesAProgramThatEndsTooSoonAndAWeightOfMinus128) {
  TensorProgramBuilder program(size_);
  program.Load(0, 0, 16);
  ASSERT_TRUE(
      program.Convolve(Command(), 8, 8, std::vector<std::int8_t>(8 * 8 * 9, 1), std::vector<TensorChannel>(8))
          .ok());
  program.End();
  const std::span<const std::uint64_t> words = program.words();
  Expect(words, 2, TensorStatus::kOk);
  Expect({}, 0, TensorStatus::kProgramEnds);
  Expect(words.first(7), 0, TensorStatus::kProgramEnds);
  Expect(words.first(8), 1, TensorStatus::kProgramEnds);
  Expect(words.first(60), 1, TensorStatus::kProgramEnds);
  Expect(words.first(words.size() - 1), 2, TensorStatus::kProgramEnds);
  std::vector<std::uint64_t> bad(words.begin(), words.end());
  bad[16 + 71] ^= 0x81ULL << 24;
  Expect(bad, 1, TensorStatus::kBadWeight);
  // A channel word may hold any byte.
  bad = {words.begin(), words.end()};
  bad[16 + 72] = 0x80;
  Expect(bad, 2, TensorStatus::kOk);
  EXPECT_FALSE(
      program
          .Convolve(Command(), 8, 8, std::vector<std::int8_t>(8 * 8 * 9, -128), std::vector<TensorChannel>(8))
          .ok());
  EXPECT_FALSE(
      program.Depthwise(Command(), std::vector<std::int8_t>(8 * 9 + 1), std::vector<TensorChannel>(8)).ok());
  EXPECT_FALSE(program.Pool(Command(), std::vector<TensorChannel>(8)).ok());
  EXPECT_EQ(program.words().size(), words.size());
}

}  // namespace
}  // namespace tributary::fpga
