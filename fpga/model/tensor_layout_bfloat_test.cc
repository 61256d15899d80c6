#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "fpga/model/tensor_bfloat.h"
#include "fpga/model/tensor_float.h"
#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_timing.h"
#include "fpga/model/tensor_unit.h"

namespace tributary::fpga {
namespace {

class TensorBfloatUnitTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  static constexpr std::uint32_t kInputs = 19, kOutputs = 21;
  static constexpr int kHeight = 7, kWidth = 9, kOutHeight = 4, kOutWidth = 5, kTaps = 9;
  static constexpr std::uint32_t kOutPixels = kOutHeight * kOutWidth, kOutputAddress = 1000;

  std::vector<float> Randoms(std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = std::normal_distribution<float>()(random_);
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

  // Runs the command on random values and returns the words of `vectors` results.
  std::vector<std::uint64_t> Run(const TensorCommand& command, std::uint32_t vectors) {
    inputs_ = Bfloat16sOf(Randoms(kInputs * kHeight * kWidth));
    weights_ = Bfloat16sOf(Randoms(kOutputs * kInputs * kTaps));
    biases_ = Randoms(kOutputs);
    const std::vector<std::uint64_t> words = PackBfloatTensor(inputs_, kInputs, size_);
    TensorProgramBuilder program(size_);
    program.Load(0, 0, static_cast<std::uint32_t>(words.size()) / size_.vector_words());
    EXPECT_TRUE(program.ConvolveBfloat(command, kOutputs, kInputs, weights_, biases_).ok());
    program.Store(kOutputAddress, 0, vectors);
    program.End();
    std::vector<std::uint64_t> output(std::size_t{vectors} * size_.vector_words());
    EXPECT_TRUE(CheckTensorProgram(program.words(), size_, {words.size(), output.size()}).ok());
    EXPECT_EQ(TensorUnit(size_).Run(program.words(), words, output).status, TensorStatus::kOk);
    return output;
  }

  // Calls check(index, exact sum, sum of the sizes of what it adds) for each output.
  template <typename Check>
  void ForEachOutput(float pad, Check check) const {
    for (std::size_t at = 0; at < kOutputs * kOutPixels; ++at) {
      const std::size_t output = at / kOutPixels;
      const int y = static_cast<int>(at % kOutPixels) / kOutWidth,
                x = static_cast<int>(at % kOutPixels) % kOutWidth;
      double sum = biases_[output], sizes = std::abs(sum);
      for (std::size_t i = 0; i < kInputs * kTaps; ++i) {
        const int row = 2 * y - 1 + static_cast<int>(i) % kTaps / 3,
                  column = 2 * x - 1 + static_cast<int>(i) % 3;
        const bool outside = row < 0 || row >= kHeight || column < 0 || column >= kWidth;
        const std::size_t place =
            i / kTaps * kHeight * kWidth + static_cast<std::size_t>(row * kWidth + column);
        const double product = static_cast<double>(outside ? pad : FloatOf(inputs_[place])) *
                               static_cast<double>(FloatOf(weights_[output * kInputs * kTaps + i]));
        sum += product;
        sizes += std::abs(product);
      }
      check(at, sum, sizes);
    }
  }

  // The bound of all groups of an output together.
  double ErrorOf(double sizes) const {
    const double tiles = TensorHalfBlocks(kInputs, size_) * kTaps;
    return sizes * (BfloatGroupError(size_.half_lanes()) + 1.1 * tiles * kTensorResultError);
  }

  TensorUnitSize size_ = {.lanes = GetParam(), .bfloat16 = true};
  std::mt19937_64 random_{GetParam()};
  std::vector<std::uint16_t> inputs_, weights_;
  std::vector<float> biases_;
};

TEST_P(TensorBfloatUnitTest, ConvolvesToFloat32) {
  TensorCommand command = Command();
  command.flags = kTensorFloat32;
  SetBfloatOutput({.pad = Bfloat16Of(0.5f), .low = 0, .high = 0}, command);  // sums have no limits
  const std::uint32_t blocks = TensorQuarterBlocks(kOutputs, size_);
  const std::vector<float> found = UnpackFloatTensor(Run(command, blocks * kOutPixels), kOutputs, size_);
  ASSERT_EQ(found.size(), kOutputs * kOutPixels);
  ForEachOutput(0.5f, [&](std::size_t at, double exact, double sizes) {
    EXPECT_NEAR(static_cast<double>(found[at]), exact, ErrorOf(sizes)) << at;
  });
}

TEST_P(TensorBfloatUnitTest, ConvolvesToBfloat16WithinLimits) {
  TensorCommand command = Command();
  SetBfloatOutput({.low = 0, .high = Bfloat16Of(6.0f)}, command);
  const std::uint32_t blocks = TensorHalfBlocks(kOutputs, size_);
  const auto found = UnpackBfloatTensor(Run(command, blocks * kOutPixels), kOutputs, size_);
  ASSERT_EQ(found.size(), kOutputs * kOutPixels);
  int zeros = 0, sixes = 0;
  ForEachOutput(0.0f, [&](std::size_t at, double exact, double sizes) {
    const double value = FloatOf(found[at]);
    EXPECT_NEAR(value, std::clamp(exact, 0.0, 6.0), ErrorOf(sizes) + std::abs(value) / 256) << at;
    zeros += value == 0.0, sixes += value == 6.0;
  });
  EXPECT_GT(zeros, 0);
  EXPECT_GT(sixes, 0);
}

TEST_P(TensorBfloatUnitTest, PacksTensorsWithZerosBehindTheLastChannel) {
  const std::vector<std::uint16_t> values = Bfloat16sOf(Randoms(kInputs * 6));
  const std::vector<std::uint64_t> words = PackBfloatTensor(values, kInputs, size_);
  const std::uint32_t blocks = TensorHalfBlocks(kInputs, size_);
  EXPECT_EQ(words.size(), std::size_t{blocks} * 6 * size_.vector_words());
  EXPECT_EQ(UnpackBfloatTensor(words, kInputs, size_), values);
  const auto all = UnpackBfloatTensor(words, blocks * size_.lanes / 2, size_);
  EXPECT_EQ(std::count(all.begin() + static_cast<std::ptrdiff_t>(values.size()), all.end(), 0),
            static_cast<std::ptrdiff_t>(all.size() - values.size()));
  // Channel 1 of the first pixel is the second number of the first word.
  EXPECT_EQ(words[0] >> 16 & 0xffff, values[6]);
}

TEST_P(TensorBfloatUnitTest, ComputesWithAQuarterOfTheProductsOfInt8) {
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
  command.precision = TensorPrecision::kBfloat16;
  EXPECT_NEAR(products_a_cycle(size_.half_lanes()), int8 / 4, int8 / 100);
}

INSTANTIATE_TEST_SUITE_P(Lanes, TensorBfloatUnitTest, testing::Values(8u, 16u, 32u));

class BfloatCommandTest : public testing::Test {
 protected:
  static TensorCommand Command() {
    return {.opcode = TensorOpcode::kConvolve,
            .precision = TensorPrecision::kBfloat16,
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

  TensorUnitSize size_ = {.lanes = 8, .activations = 64, .kept = 64, .bfloat16 = true};
};

TEST_F(BfloatCommandTest, IsRefusedWhereItIsNotBuilt) {
  EXPECT_EQ(Check(Command()), TensorStatus::kOk);
  size_.bfloat16 = false;
  EXPECT_EQ(Check(Command()), TensorStatus::kBadField);
}

TEST_F(BfloatCommandTest, IsAConvolutionWithoutAResidual) {
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
  command.precision = static_cast<TensorPrecision>(2);
  EXPECT_EQ(Check(command), TensorStatus::kBadField);
  command.precision = TensorPrecision::kInt8;
  command.flags = kTensorFloat32;
  EXPECT_EQ(Check(command), TensorStatus::kBadField);
}

TEST_F(BfloatCommandTest, Float32TakesTwiceThePlanes) {
  TensorCommand command = Command();
  command.output_address = 64 - 8 - 4;
  EXPECT_EQ(Check(command), TensorStatus::kOk);
  command.flags = kTensorFloat32;
  EXPECT_EQ(Check(command), TensorStatus::kBadAddress);
  command.output_address = 64 - 3 * 8 - 4;
  EXPECT_EQ(Check(command), TensorStatus::kOk);
  command.output_address += 1;
  EXPECT_EQ(Check(command), TensorStatus::kBadAddress);
}

TEST_F(BfloatCommandTest, KeptWordsAreThoseOfItsTiles) {
  TensorCommand command = Command();
  EXPECT_EQ(TensorWeightWords(command, size_), 2u * (4 + 4));
  command.flags = kTensorKept;
  command.kept_address = 64 - 16;
  EXPECT_EQ(Check(command), TensorStatus::kOk);
  command.kept_address += 1;
  EXPECT_EQ(Check(command), TensorStatus::kBadAddress);
}

TEST_F(BfloatCommandTest, KeepsItsLimits) {
  TensorCommand command = Command();
  SetBfloatOutput({.pad = 0x1234, .low = 0x89ab, .high = 0xcdef}, command);
  EXPECT_EQ(EncodeTensorCommand(command)[6], 0xcdef'89ab'1234u);
  EXPECT_EQ(BfloatOutput(command).pad, 0x1234);
  EXPECT_EQ(BfloatOutput(command).low, 0x89ab);
  EXPECT_EQ(BfloatOutput(command).high, 0xcdef);
  EXPECT_EQ(command.opcode, TensorOpcode::kConvolve);
}

TEST_F(BfloatCommandTest, ABuilderRefusesAWrongNumberOfWeights) {
  TensorProgramBuilder program(size_);
  const std::vector<std::uint16_t> weights(6);
  const std::vector<float> biases(3);
  EXPECT_FALSE(program.ConvolveBfloat(Command(), 3, 3, weights, biases).ok());
  EXPECT_FALSE(program.ConvolveBfloat(Command(), 3, 2, weights, std::span(biases).first(2)).ok());
  EXPECT_TRUE(program.words().empty());
  EXPECT_TRUE(program.ConvolveBfloat(Command(), 3, 2, weights, biases).ok());
  EXPECT_EQ(program.words().size(), kTensorCommandWords + 4 + 4);
}

}  // namespace
}  // namespace tributary::fpga
