// What holds for a CONVOLVE of every precision but int8: its fields, its words, its tensors and its pace.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_timing.h"
#include "fpga/model/tensor_words.h"

namespace tributary::fpga {
namespace {

// Packs 6 pixels of 19 channels and holds words and values to each other.
template <typename Value, typename Pack, typename Unpack>
void ExpectPacked(const TensorUnitSize& size, Pack pack, Unpack unpack) {
  constexpr std::uint32_t kChannels = 19, kPixels = 6;
  const auto per_vector = static_cast<std::uint32_t>(size.lanes / sizeof(Value));
  std::vector<Value> values(std::size_t{kChannels} * kPixels);
  std::iota(values.begin(), values.end(), Value{1});
  const std::vector<std::uint64_t> words = pack(values, kChannels, size);
  const std::uint32_t blocks = (kChannels + per_vector - 1) / per_vector;
  EXPECT_EQ(words.size(), std::size_t{blocks} * kPixels * size.vector_words());
  EXPECT_EQ(unpack(words, kChannels, size), values);
  const std::vector<Value> all = unpack(words, blocks * per_vector, size);
  EXPECT_EQ(std::count(all.begin(), all.end(), Value{0}),
            static_cast<std::ptrdiff_t>(all.size() - values.size()));
  // Channel 1 of the first pixel is the second number of the first word.
  EXPECT_EQ(ValueAt<Value>(words, 1), values[kPixels]);
}

struct Precision {
  const char* name;
  TensorPrecision number;
  bool TensorUnitSize::*built;
  std::uint32_t bytes;          // of a value
  bool results32;               // flag 16 is for it
  std::uint64_t channel_words;  // of a block, with 8 lanes
  absl::Status (*convolve)(TensorProgramBuilder& program, const TensorCommand& command, std::uint32_t outputs,
                           std::uint32_t inputs, std::size_t weights, std::size_t channels);
  void (*expect_packed)(const TensorUnitSize& size);
};

void PrintTo(const Precision& precision, std::ostream* to) { *to << precision.name; }

const Precision kPrecisions[] = {
    {"Bfloat16", TensorPrecision::kBfloat16, &TensorUnitSize::bfloat16, 2, true, 4,
     [](TensorProgramBuilder& program, const TensorCommand& command, std::uint32_t outputs,
        std::uint32_t inputs, std::size_t weights, std::size_t channels) {
       return program.ConvolveBfloat(command, outputs, inputs, std::vector<std::uint16_t>(weights),
                                     std::vector<float>(channels));
     },
     [](const TensorUnitSize& size) {
       ExpectPacked<std::uint16_t>(size, PackBfloatTensor, UnpackBfloatTensor);
     }},
    {"Int16", TensorPrecision::kInt16, &TensorUnitSize::int16, 2, true, 8,
     [](TensorProgramBuilder& program, const TensorCommand& command, std::uint32_t outputs,
        std::uint32_t inputs, std::size_t weights, std::size_t channels) {
       return program.ConvolveInt16(command, outputs, inputs, std::vector<std::int16_t>(weights),
                                    std::vector<TensorInt16Channel>(channels));
     },
     [](const TensorUnitSize& size) {
       ExpectPacked<std::int16_t>(size, PackInt16Tensor, UnpackInt16Tensor);
     }},
    {"Int32", TensorPrecision::kInt32, &TensorUnitSize::int32, 4, false, 8,
     [](TensorProgramBuilder& program, const TensorCommand& command, std::uint32_t outputs,
        std::uint32_t inputs, std::size_t weights, std::size_t channels) {
       return program.ConvolveInt32(command, outputs, inputs, std::vector<std::int32_t>(weights),
                                    std::vector<TensorInt32Channel>(channels));
     },
     [](const TensorUnitSize& size) {
       ExpectPacked<std::int32_t>(size, PackInt32Tensor, UnpackInt32Tensor);
     }},
    {"Float32", TensorPrecision::kFloat32, &TensorUnitSize::float32, 4, false, 2,
     [](TensorProgramBuilder& program, const TensorCommand& command, std::uint32_t outputs,
        std::uint32_t inputs, std::size_t weights, std::size_t channels) {
       return program.ConvolveFloat32(command, outputs, inputs, std::vector<float>(weights),
                                      std::vector<float>(channels));
     },
     [](const TensorUnitSize& size) { ExpectPacked<float>(size, PackFloatTensor, UnpackFloatTensor); }},
};

class TensorPrecisionTest : public testing::TestWithParam<Precision> {
 protected:
  TensorPrecisionTest() { size_.*GetParam().built = true; }

  static TensorCommand Command() {
    return {.opcode = TensorOpcode::kConvolve,
            .precision = GetParam().number,
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
  // Words behind a command of two blocks with one tile each.
  static std::uint64_t TwoBlocks() {
    const std::uint64_t n = 8 / GetParam().bytes, tile = n * n * GetParam().bytes / 8;
    return 2 * (tile + GetParam().channel_words);
  }

  TensorUnitSize size_ = {.lanes = 8, .activations = 64, .kept = 64};
};

TEST_P(TensorPrecisionTest, IsRefusedWhereItIsNotBuilt) {
  for (const Precision& precision : kPrecisions) {
    TensorCommand command = Command();
    command.precision = precision.number;
    const bool built = precision.number == GetParam().number;
    EXPECT_EQ(Check(command), built ? TensorStatus::kOk : TensorStatus::kBadField) << precision.name;
  }
  for (const int number : {5, 0x80 | static_cast<int>(GetParam().number)}) {
    TensorCommand command = Command();
    command.precision = static_cast<TensorPrecision>(number);
    EXPECT_EQ(Check(command), TensorStatus::kBadField) << number;
  }
}

TEST_P(TensorPrecisionTest, IsAConvolutionWithoutAResidual) {
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
}

TEST_P(TensorPrecisionTest, ResultsOf32BitsTakeTwiceThePlanesOfThoseOf16) {
  TensorCommand command = Command();
  command.output_address = 64 - 8 - 4;
  EXPECT_EQ(Check(command), TensorStatus::kOk);
  command.flags = kTensorInt32;
  EXPECT_EQ(Check(command), GetParam().results32 ? TensorStatus::kBadAddress : TensorStatus::kBadField);
  command.output_address = 64 - 3 * 8 - 4;
  EXPECT_EQ(Check(command), GetParam().results32 ? TensorStatus::kOk : TensorStatus::kBadField);
  command.output_address += 1;
  EXPECT_EQ(Check(command), GetParam().results32 ? TensorStatus::kBadAddress : TensorStatus::kBadField);
  command.precision = TensorPrecision::kInt8;
  EXPECT_EQ(Check(command), TensorStatus::kBadField);
}

TEST_P(TensorPrecisionTest, KeptWordsAreThoseOfItsTilesAndChannels) {
  TensorCommand command = Command();
  EXPECT_EQ(TensorWeightWords(command, size_), TwoBlocks());
  command.flags = kTensorKept;
  command.kept_address = static_cast<std::uint32_t>(64 - TwoBlocks());
  EXPECT_EQ(Check(command), TensorStatus::kOk);
  command.kept_address += 1;
  EXPECT_EQ(Check(command), TensorStatus::kBadAddress);
}

TEST_P(TensorPrecisionTest, ABuilderRefusesAWrongNumberOfWeightsOrChannels) {
  TensorProgramBuilder program(size_);
  const std::uint32_t outputs = 12 / GetParam().bytes;  // a block and a half
  EXPECT_FALSE(GetParam().convolve(program, Command(), outputs, 2, outputs, outputs).ok());
  EXPECT_FALSE(GetParam().convolve(program, Command(), outputs, 2, 2 * outputs, outputs - 1).ok());
  EXPECT_TRUE(program.words().empty());
  EXPECT_TRUE(GetParam().convolve(program, Command(), outputs, 2, 2 * outputs, outputs).ok());
  EXPECT_EQ(program.words().size(), kTensorCommandWords + TwoBlocks());
}

TEST_P(TensorPrecisionTest, PacksTensorsWithZerosBehindTheLastChannel) {
  for (const std::uint32_t lanes : {8u, 16u, 32u}) GetParam().expect_packed({.lanes = lanes});
}

TEST_P(TensorPrecisionTest, HasTheProductsOfAMatrixWithFewerRowsAndColumns) {
  for (const std::uint32_t lanes : {8u, 16u, 32u}) {
    TensorCommand command = {.opcode = TensorOpcode::kConvolve,
                             .input_blocks = 8,
                             .output_blocks = 2,
                             .output_height = 16,
                             .output_width = 64,
                             .kernel_height = 3,
                             .kernel_width = 3};
    const auto cycles = [&] {
      TensorTiming timing({.lanes = lanes});
      timing.Add(command);
      return static_cast<double>(timing.cycles());
    };
    const double int8 = cycles();
    command.precision = GetParam().number;
    EXPECT_NEAR(cycles() / int8, 1.0, 0.04) << lanes;
  }
}

INSTANTIATE_TEST_SUITE_P(All, TensorPrecisionTest, testing::ValuesIn(kPrecisions),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace tributary::fpga
