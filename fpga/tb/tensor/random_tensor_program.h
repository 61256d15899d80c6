// Random programs of the tensor unit that are right: every command reads one quarter of the activation memory
// and writes another.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_words.h"
#include "fpga/tb/tensor/random_floats.h"

namespace tributary::fpga {

class RandomTensorProgram {
 public:
  struct Counts {
    std::uint64_t convolve = 0, depthwise = 0, pool = 0, residual = 0, padded = 0, strided = 0, in_place = 0;
    std::uint64_t bfloat = 0, float_sums = 0, int16 = 0, results32 = 0, int32 = 0, float32 = 0;
  };

  RandomTensorProgram(const TensorUnitSize& size, std::uint64_t seed)
      : size_(size), quarter_(size.activations / 4), seed_(seed), random_(seed), program_(size) {}

  // Loads all of the memory, computes, and stores all of it. Input and output have activations · N / 8 words.
  std::vector<std::uint64_t> Make(int commands, bool load = true) {
    const auto flips = static_cast<std::uint16_t>(Below(2));
    if (load) program_.Load(0, 0, size_.activations, flips);
    for (int i = 0; i < commands; ++i) {
      if (!others_.empty() && Below(3) == 0) {
        Convolve(others_[Below(static_cast<std::uint32_t>(others_.size()))]);
        continue;
      }
      switch (Below(4)) {
        case 0:
        case 1:
          Convolve();
          break;
        case 2:
          Depthwise();
          break;
        default:
          Pool();
          break;
      }
    }
    program_.Store(0, 0, size_.activations, flips);
    program_.End();
    return program_.words();
  }

  // The same with CONVOLVE in one other precision only.
  std::vector<std::uint64_t> MakeChain(int commands, TensorPrecision precision) {
    program_.Load(0, 0, size_.activations);
    for (int i = 0; i < commands; ++i) Convolve(precision);
    program_.Store(0, 0, size_.activations);
    program_.End();
    return program_.words();
  }
  // Its input: floats of a kind for each of seven seeds, or integers that are at their extremes one time in
  // four.
  std::vector<std::uint64_t> ChainInput(TensorPrecision precision) {
    const std::size_t bytes = std::size_t{size_.activations} * size_.lanes;
    numbers_ = RandomFloats(static_cast<RandomFloats::Kind>(seed_ % RandomFloats::kKinds));
    switch (precision) {
      case TensorPrecision::kInt8:
        break;
      case TensorPrecision::kBfloat16:
        return Words(Bfloats(bytes / 2));
      case TensorPrecision::kInt16:
        return Words(Int16s(bytes / 2));
      case TensorPrecision::kInt32:
        return Words(Int32s(bytes / 4));
      case TensorPrecision::kFloat32:
        return Words(Float32s(bytes / 4));
    }
    return Input();
  }

  std::vector<std::uint64_t> Input() {
    std::vector<std::uint64_t> words(std::size_t{size_.activations} * size_.vector_words());
    const bool extreme = Below(4) == 0;
    for (std::uint64_t& word : words)
      word = extreme ? 0x8080'8080'8080'8080 ^ (random_() & 0x8000'0000'0000'0080) : random_();
    return words;
  }

  Counts counts;

 private:
  std::uint32_t Below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }
  int Between(int low, int high) {
    return low + static_cast<int>(Below(static_cast<std::uint32_t>(high - low + 1)));
  }
  template <typename Value>
  static std::vector<std::uint64_t> Words(const std::vector<Value>& values) {
    std::vector<std::uint64_t> words(values.size() * sizeof(Value) / 8);
    for (std::size_t i = 0; i < values.size(); ++i) PutValue(words, i, values[i]);
    return words;
  }
  std::int8_t Int8() { return static_cast<std::int8_t>(random_()); }

  std::vector<std::int8_t> Weights(std::size_t count) {
    std::vector<std::int8_t> weights(count);
    const bool extreme = Below(4) == 0;
    for (std::int8_t& weight : weights) {
      weight = static_cast<std::int8_t>(extreme ? (Below(8) == 0 ? -127 : 127) : Between(-127, 127));
    }
    return weights;
  }

  std::vector<TensorChannel> Channels(std::uint32_t count) {
    std::vector<TensorChannel> channels(count);
    for (TensorChannel& channel : channels) {
      if (Below(8) == 0) {
        channel = {.bias = static_cast<std::int32_t>(random_()),
                   .multiplier = static_cast<std::uint16_t>(random_()),
                   .shift = static_cast<std::uint8_t>(Below(32))};
      } else {
        channel = *TensorChannelOf(std::uniform_real_distribution<double>(0.0003, 0.01)(random_));
        channel.bias = Between(-20000, 20000);
      }
    }
    return channels;
  }

  // Two different quarters, and the shape of what is read from the first: blocks of at most a quarter.
  struct Places {
    std::uint32_t from, to, other;
  };
  Places Quarters() {
    const std::uint32_t from = Below(4), to = (from + 1 + Below(3)) % 4;
    return {from * quarter_, to * quarter_, Below(4) * quarter_};
  }

  void Output(TensorCommand& command) {
    TensorOutput& output = command.output;
    output.zero = Int8();
    output.low = std::min(Int8(), std::int8_t{0});
    output.high = std::max(Int8(), std::int8_t{0});
    output.residual_zero = Int8();
    output.sum_zero = Int8();
    output.sum_low = std::min(Int8(), std::int8_t{0});
    output.sum_high = std::max(Int8(), std::int8_t{0});
    if (Below(8) == 0) {
      output.own_multiplier = static_cast<std::uint16_t>(random_());
      output.residual_multiplier = static_cast<std::uint16_t>(random_());
    } else {
      std::uniform_real_distribution<double> factor(0.1, 2.0);
      EXPECT_TRUE(SetTensorSum(factor(random_), factor(random_), output).ok());
    }
    command.pad_value = Int8();
  }

  std::vector<TensorPrecision> OtherPrecisions() const {
    std::vector<TensorPrecision> built;
    if (size_.bfloat16) built.push_back(TensorPrecision::kBfloat16);
    if (size_.int16) built.push_back(TensorPrecision::kInt16);
    if (size_.int32) built.push_back(TensorPrecision::kInt32);
    if (size_.float32) built.push_back(TensorPrecision::kFloat32);
    return built;
  }

  void Convolve(TensorPrecision precision) {
    switch (precision) {
      case TensorPrecision::kInt8:
        return Convolve();
      case TensorPrecision::kBfloat16:
        return ConvolveBfloat();
      case TensorPrecision::kInt16:
        return ConvolveInt16();
      case TensorPrecision::kInt32:
        return ConvolveInt32();
      case TensorPrecision::kFloat32:
        return ConvolveFloat32();
    }
  }

  // The shape of a convolution whose values have so many bytes; with 16 bits, one of three has results of 32.
  // A quarter has as many vectors as in int8, of fewer channels, and results of 32 bits take twice the
  // blocks.
  struct Wide {
    TensorCommand command;
    std::uint32_t inputs = 0, outputs = 0;
    std::size_t weights = 0;
    bool results32 = false;
  };
  Wide WideShape(std::uint32_t bytes) {
    const std::uint32_t n = size_.lanes / bytes;
    Wide wide;
    wide.inputs = 1 + Below(3 * n), wide.outputs = 1 + Below(3 * n);
    wide.results32 = bytes == 2 && Below(3) == 0;
    const std::uint32_t blocks = (wide.outputs + n - 1) / n;
    TensorCommand& command = wide.command;
    Shape(command, Quarters(), (wide.inputs + n - 1) / n, wide.results32 ? 2 * blocks : blocks, size_.pixels,
          3, 20);
    command.kernel_height = static_cast<std::uint8_t>(1 + Below(3));
    command.kernel_width = static_cast<std::uint8_t>(1 + Below(3));
    if (wide.results32) command.flags |= kTensorInt32;
    wide.weights = std::size_t{command.kernel_height} * command.kernel_width * wide.inputs * wide.outputs;
    return wide;
  }

  std::vector<std::uint16_t> Bfloats(std::size_t count) {
    std::vector<std::uint16_t> values(count);
    for (std::uint16_t& value : values) value = numbers_.NextBfloat16(random_);
    return values;
  }
  std::vector<float> Float32s(std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = std::bit_cast<float>(numbers_.NextFloat32(random_));
    return values;
  }
  // One time in three zeros.
  std::vector<float> Biases(std::size_t count) {
    return Below(3) == 0 ? std::vector<float>(count) : Float32s(count);
  }

  void ConvolveBfloat() {
    Wide wide = WideShape(2);
    if (Below(3) == 0) numbers_.Choose(random_);
    TensorBfloatOutput output;
    if (Below(2) == 0) output.pad = numbers_.NextBfloat16(random_);
    if (Below(2) == 0) output.low = numbers_.NextBfloat16(random_);
    if (Below(2) == 0) output.high = numbers_.NextBfloat16(random_);
    SetBfloatOutput(output, wide.command);
    EXPECT_TRUE(program_
                    .ConvolveBfloat(wide.command, wide.outputs, wide.inputs, Bfloats(wide.weights),
                                    Biases(wide.outputs))
                    .ok());
    ++counts.bfloat;
    counts.float_sums += wide.results32;
  }

  void ConvolveFloat32() {
    Wide wide = WideShape(4);
    if (Below(3) == 0) numbers_.Choose(random_);
    TensorFloat32Output output;
    if (Below(2) == 0) output.low = numbers_.NextFloat32(random_);
    if (Below(2) == 0) output.high = numbers_.NextFloat32(random_);
    SetFloat32Output(output, wide.command);
    EXPECT_TRUE(program_
                    .ConvolveFloat32(wide.command, wide.outputs, wide.inputs, Float32s(wide.weights),
                                     Biases(wide.outputs))
                    .ok());
    ++counts.float32;
  }

  // Any values, extremes only, or small ones.
  std::vector<std::int16_t> Int16s(std::size_t count) {
    std::vector<std::int16_t> values(count);
    const std::uint32_t kind = Below(4);
    for (std::int16_t& value : values) {
      value = static_cast<std::int16_t>(kind == 0   ? (Below(8) == 0 ? 32767 : -32768)
                                        : kind == 1 ? Between(-9, 9)
                                                    : Between(-32768, 32767));
    }
    return values;
  }
  std::int16_t Int16() { return static_cast<std::int16_t>(random_()); }

  std::vector<TensorInt16Channel> Int16Channels(std::uint32_t count) {
    std::vector<TensorInt16Channel> channels(count);
    for (TensorInt16Channel& channel : channels) {
      if (Below(8) == 0) {
        channel = {.bias = static_cast<std::int64_t>(random_()) >> (64 - kInt16BiasBits),
                   .multiplier = Below(1 << 17),
                   .shift = static_cast<std::uint8_t>(Below(64))};
      } else {
        const double exponent = Below(4) == 0 ? Between(-40, 0) : -18;
        channel =
            *Int16ChannelOf(std::exp2(exponent + std::uniform_real_distribution<double>(0.0, 1.0)(random_)));
        channel.bias = static_cast<std::int64_t>(random_()) >> (64 - 18 - Between(0, 14));
      }
    }
    return channels;
  }

  void ConvolveInt16() {
    Wide wide = WideShape(2);
    TensorInt16Output output = {.pad = Int16(), .zero = Int16()};
    if (Below(2) == 0) output.low = std::min(Int16(), std::int16_t{0});
    if (Below(2) == 0) output.high = std::max(Int16(), std::int16_t{0});
    SetInt16Output(output, wide.command);
    EXPECT_TRUE(program_
                    .ConvolveInt16(wide.command, wide.outputs, wide.inputs, Int16s(wide.weights),
                                   Int16Channels(wide.outputs))
                    .ok());
    ++counts.int16;
    counts.results32 += wide.results32;
  }

  std::vector<std::int32_t> Int32s(std::size_t count) {
    std::vector<std::int32_t> values(count);
    const std::uint32_t kind = Below(4);
    for (std::int32_t& value : values) {
      const auto any = static_cast<std::int32_t>(random_());
      value = kind == 0 ? (Below(8) == 0 ? INT32_MAX : INT32_MIN) : kind == 1 ? any >> 27 : any;
    }
    return values;
  }

  std::vector<TensorInt32Channel> Int32Channels(std::uint32_t count) {
    std::vector<TensorInt32Channel> channels(count);
    const auto bias = [this](int shift) {
      return absl::MakeInt128(static_cast<std::int64_t>(random_()), random_()) >> shift;
    };
    for (TensorInt32Channel& channel : channels) {
      if (Below(8) == 0) {
        channel = {.bias = bias(128 - kInt32BiasBits),
                   .multiplier = random_() >> 30,
                   .shift = static_cast<std::uint8_t>(Below(64))};
      } else {
        const double exponent = Below(4) == 0 ? Between(-60, 0) : -34;
        channel =
            *Int32ChannelOf(std::exp2(exponent + std::uniform_real_distribution<double>(0.0, 1.0)(random_)));
        channel.bias = bias(128 - 34 - Between(0, 32));
      }
    }
    return channels;
  }

  void ConvolveInt32() {
    Wide wide = WideShape(4);
    TensorInt32Output output;
    if (Below(2) == 0) output.low = -static_cast<std::int32_t>(random_() >> 33);
    if (Below(2) == 0) output.high = static_cast<std::int32_t>(random_() >> 33);
    SetInt32Output(output, wide.command);
    EXPECT_TRUE(program_
                    .ConvolveInt32(wide.command, wide.outputs, wide.inputs, Int32s(wide.weights),
                                   Int32Channels(wide.outputs))
                    .ok());
    ++counts.int32;
  }

  // Sizes with which the output of `blocks` blocks fits a quarter and `pixels`.
  void Shape(TensorCommand& command, const Places& places, std::uint32_t input_blocks,
             std::uint32_t output_blocks, std::uint32_t pixels, std::uint32_t max_stride,
             std::uint32_t max_width) {
    const std::uint32_t in = quarter_ / input_blocks, out = std::min(quarter_ / output_blocks, pixels);
    command.input_width = static_cast<std::uint16_t>(1 + Below(std::min(in, 20u)));
    command.input_height = static_cast<std::uint16_t>(1 + Below(std::min(in / command.input_width, 20u)));
    command.output_width = static_cast<std::uint16_t>(1 + Below(std::min(out, max_width)));
    command.output_height = static_cast<std::uint16_t>(1 + Below(std::min(out / command.output_width, 20u)));
    command.input_plane = in;
    command.output_plane = out;
    command.residual_plane = out;
    command.input_address = places.from;
    command.output_address = places.to;
    command.stride_y = static_cast<std::uint8_t>(1 + Below(max_stride));
    command.stride_x = static_cast<std::uint8_t>(1 + Below(max_stride));
    command.origin_y = static_cast<std::int16_t>(Between(-3, 3));
    command.origin_x = static_cast<std::int16_t>(Between(-3, 3));
    counts.padded += command.origin_x < 0;
    counts.strided += command.stride_x > 1;
    Output(command);
  }

  void Residual(TensorCommand& command, const Places& places) {
    if (Below(2) == 0) return;
    command.flags |= kTensorResidual;
    command.residual_address = places.other;
    ++counts.residual;
    counts.in_place += places.other == places.to;
  }

  void Convolve() {
    const std::uint32_t inputs = 1 + Below(3 * size_.lanes), outputs = 1 + Below(3 * size_.lanes);
    const Places places = Quarters();
    TensorCommand command;
    Shape(command, places, TensorBlocks(inputs, size_), TensorBlocks(outputs, size_), size_.pixels, 3, 20);
    command.kernel_height = static_cast<std::uint8_t>(1 + Below(3));
    command.kernel_width = static_cast<std::uint8_t>(1 + Below(3));
    Residual(command, places);
    const std::size_t taps = std::size_t{command.kernel_height} * command.kernel_width;
    EXPECT_TRUE(
        program_.Convolve(command, outputs, inputs, Weights(taps * inputs * outputs), Channels(outputs))
            .ok());
    ++counts.convolve;
  }

  void Depthwise() {
    const std::uint32_t channels = 1 + Below(3 * size_.lanes), blocks = TensorBlocks(channels, size_);
    TensorCommand command;
    Shape(command, Quarters(), blocks, blocks, quarter_, 2, std::min(20u, (size_.line - 1) / 2));
    EXPECT_TRUE(program_.Depthwise(command, Weights(std::size_t{9} * channels), Channels(channels)).ok());
    ++counts.depthwise;
  }

  void Pool() {
    const std::uint32_t channels = 1 + Below(3 * size_.lanes), blocks = TensorBlocks(channels, size_);
    const Places places = Quarters();
    TensorCommand command;
    command.opcode = Below(2) == 0 ? TensorOpcode::kMaxPool : TensorOpcode::kSumPool;
    Shape(command, places, blocks, blocks, quarter_, 8, 20);
    command.kernel_height = static_cast<std::uint8_t>(1 + Below(4));
    command.kernel_width = static_cast<std::uint8_t>(1 + Below(4));
    Residual(command, places);
    EXPECT_TRUE(program_.Pool(command, Channels(channels)).ok());
    ++counts.pool;
  }

  TensorUnitSize size_;
  std::uint32_t quarter_;
  std::uint64_t seed_;
  std::mt19937_64 random_;
  RandomFloats numbers_;
  std::vector<TensorPrecision> others_ = OtherPrecisions();  // that are built
  TensorProgramBuilder program_;
};

}  // namespace tributary::fpga
