// A convolution on the golden model for tests of one precision: 3×3, stride 2, a padding of one, and no
// number of channels that fills its blocks.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_unit.h"

namespace tributary::fpga {

// The parameter is the number of lanes.
class TensorConvolutionTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  static constexpr std::uint32_t kInputs = 19, kOutputs = 21;
  static constexpr int kHeight = 7, kWidth = 9, kOutHeight = 4, kOutWidth = 5, kTaps = 9;
  static constexpr std::uint32_t kOutPixels = kOutHeight * kOutWidth, kOutputAddress = 1000;
  static constexpr std::size_t kInputCount = std::size_t{kInputs} * kHeight * kWidth;
  static constexpr std::size_t kWeightCount = std::size_t{kOutputs} * kInputs * kTaps;
  static constexpr std::size_t kOutputCount = std::size_t{kOutputs} * kOutPixels;

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

  // Runs what convolve(builder) appends on packed inputs, and returns the words of `planes` planes of
  // results.
  template <typename Convolve>
  std::vector<std::uint64_t> RunOn(const std::vector<std::uint64_t>& inputs, std::uint32_t planes,
                                   Convolve convolve) const {
    TensorProgramBuilder program(size_);
    program.Load(0, 0, static_cast<std::uint32_t>(inputs.size()) / size_.vector_words());
    EXPECT_TRUE(convolve(program).ok());
    program.Store(kOutputAddress, 0, planes * kOutPixels);
    program.End();
    std::vector<std::uint64_t> output(std::size_t{planes} * kOutPixels * size_.vector_words());
    EXPECT_TRUE(CheckTensorProgram(program.words(), size_, {inputs.size(), output.size()}).ok());
    EXPECT_EQ(TensorUnit(size_).Run(program.words(), inputs, output).status, TensorStatus::kOk);
    return output;
  }

  // Calls add(place of the input, place of the weight) for every product of an output, from the definition of
  // a convolution. Outputs and inputs lie as [channel][pixel], weights as [output][input][tap]. No place: the
  // pad value.
  template <typename Add>
  static void ForEachProduct(std::size_t at, Add add) {
    const int y = static_cast<int>(at % kOutPixels) / kOutWidth,
              x = static_cast<int>(at % kOutPixels) % kOutWidth;
    for (std::size_t i = 0; i < kInputs * kTaps; ++i) {
      const int row = 2 * y - 1 + static_cast<int>(i) % kTaps / 3,
                column = 2 * x - 1 + static_cast<int>(i) % 3;
      std::optional<std::size_t> place;
      if (row >= 0 && row < kHeight && column >= 0 && column < kWidth) {
        place = i / kTaps * kHeight * kWidth + static_cast<std::size_t>(row * kWidth + column);
      }
      add(place, at / kOutPixels * kInputs * kTaps + i);
    }
  }

  // [output][pixel] of integers.
  template <typename Sum, typename Product, typename Value>
  static std::vector<Sum> SumsOf(const std::vector<Value>& inputs, const std::vector<Value>& weights,
                                 Value pad) {
    std::vector<Sum> sums(kOutputCount);
    for (std::size_t at = 0; at < sums.size(); ++at) {
      ForEachProduct(at, [&](std::optional<std::size_t> input, std::size_t weight) {
        sums[at] += Product{input ? inputs[*input] : pad} * weights[weight];
      });
    }
    return sums;
  }

  template <typename Value>
  std::vector<Value> RandomIntegers(std::size_t count) {
    std::vector<Value> values(count);
    for (Value& value : values) value = static_cast<Value>(random_());
    return values;
  }
  std::vector<float> RandomFloats(std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = std::normal_distribution<float>()(random_);
    return values;
  }

  TensorUnitSize size_ = {
      .lanes = GetParam(), .bfloat16 = true, .int16 = true, .int32 = true, .float32 = true};
  std::mt19937_64 random_{GetParam()};
};

}  // namespace tributary::fpga
