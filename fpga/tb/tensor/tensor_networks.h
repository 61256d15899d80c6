// Programs with the layers of two networks for 32×32 images and with random weights: what a compiler would
// make of them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "fpga/model/tensor_layout.h"

namespace tributary::fpga {

// Writes a program layer by layer and counts the products that the network asks for, without the lanes that
// blocks add.
class TensorNetwork {
 public:
  struct Tensor {
    std::uint32_t address, channels, side;
  };

  TensorNetwork(const TensorUnitSize& size, std::uint64_t seed)
      : size_(size), random_(seed), program_(size) {}

  Tensor Input(std::uint32_t channels, std::uint32_t side) {
    const Tensor input{0, channels, side};
    program_.Load(0, 0, Vectors(input));
    input_words_ = Vectors(input) * size_.vector_words();
    return input;
  }

  // Padded by half of the kernel. `sum`: added to the result.
  Tensor Convolve(const Tensor& from, std::uint32_t address, std::uint32_t channels, std::uint32_t kernel,
                  std::uint32_t stride, const Tensor* sum = nullptr) {
    const Tensor to{address, channels, from.side / stride};
    TensorCommand command = Shape(from, to, kernel, stride);
    if (sum != nullptr) {
      command.flags = kTensorResidual;
      command.residual_address = sum->address;
      command.residual_plane = to.side * to.side;
      EXPECT_TRUE(SetTensorSum(0.8, 0.7, command.output).ok());
    }
    const std::uint32_t terms = kernel * kernel * from.channels;
    EXPECT_TRUE(
        program_
            .Convolve(command, channels, from.channels, Weights(terms * channels), Channels(channels, terms))
            .ok());
    products_ += std::uint64_t{terms} * channels * to.side * to.side;
    return to;
  }

  Tensor Depthwise(const Tensor& from, std::uint32_t address, std::uint32_t stride) {
    const Tensor to{address, from.channels, from.side / stride};
    EXPECT_TRUE(program_
                    .Depthwise(Shape(from, to, 3, stride), Weights(std::size_t{9} * from.channels),
                               Channels(from.channels, 9))
                    .ok());
    products_ += std::uint64_t{9} * from.channels * to.side * to.side;
    return to;
  }

  Tensor Average(const Tensor& from, std::uint32_t address) {
    const Tensor to{address, from.channels, 1};
    TensorCommand command = Shape(from, to, from.side, 1);
    command.opcode = TensorOpcode::kSumPool;
    command.origin_y = command.origin_x = 0;
    const std::vector<TensorChannel> channels(from.channels, *TensorChannelOf(1.0 / (from.side * from.side)));
    EXPECT_TRUE(program_.Pool(command, channels).ok());
    return to;
  }

  void Output(const Tensor& tensor) {
    program_.Store(tensor.address, 0, Vectors(tensor));
    program_.End();
    output_words_ = Vectors(tensor) * size_.vector_words();
  }

  std::uint32_t Vectors(const Tensor& tensor) const {
    return TensorBlocks(tensor.channels, size_) * tensor.side * tensor.side;
  }
  const std::vector<std::uint64_t>& words() const { return program_.words(); }
  std::uint32_t commands() const { return program_.commands(); }
  std::uint64_t products() const { return products_; }
  std::size_t input_words() const { return input_words_; }
  std::size_t output_words() const { return output_words_; }

 private:
  static TensorCommand Shape(const Tensor& from, const Tensor& to, std::uint32_t kernel,
                             std::uint32_t stride) {
    const auto side = [](std::uint32_t value) { return static_cast<std::uint16_t>(value); };
    const auto origin = static_cast<std::int16_t>(-static_cast<int>(kernel / 2));
    TensorCommand command = {.input_address = from.address,
                             .input_plane = from.side * from.side,
                             .input_height = side(from.side),
                             .input_width = side(from.side),
                             .origin_y = origin,
                             .origin_x = origin,
                             .output_height = side(to.side),
                             .output_width = side(to.side),
                             .kernel_height = static_cast<std::uint8_t>(kernel),
                             .kernel_width = static_cast<std::uint8_t>(kernel),
                             .stride_y = static_cast<std::uint8_t>(stride),
                             .stride_x = static_cast<std::uint8_t>(stride),
                             .output_address = to.address,
                             .output_plane = to.side * to.side};
    return command;
  }
  std::vector<std::int8_t> Weights(std::size_t count) {
    std::vector<std::int8_t> weights(count);
    for (std::int8_t& weight : weights)
      weight = static_cast<std::int8_t>(static_cast<int>(random_() % 255) - 127);
    return weights;
  }
  std::vector<TensorChannel> Channels(std::uint32_t count, std::uint32_t terms) {
    // Random sums have about 73 · 73 · √terms: half of an int8's range.
    std::vector<TensorChannel> channels(count, *TensorChannelOf(64.0 / (5400.0 * std::sqrt(terms))));
    for (TensorChannel& channel : channels) channel.bias = static_cast<std::int32_t>(random_() % 4001) - 2000;
    return channels;
  }

  TensorUnitSize size_;
  std::mt19937_64 random_;
  TensorProgramBuilder program_;
  std::uint64_t products_ = 0;
  std::size_t input_words_ = 0, output_words_ = 0;
};

// ResNet-20 for CIFAR: three stages of three blocks, with projections where the side halves.
inline TensorNetwork ResNet20(const TensorUnitSize& size, std::uint64_t seed) {
  TensorNetwork network(size, seed);
  const std::uint32_t room = 1024 * TensorBlocks(16, size);  // the largest tensor
  TensorNetwork::Tensor x = network.Convolve(network.Input(3, 32), room, 16, 3, 1);
  for (std::uint32_t stage = 0; stage < 3; ++stage) {
    for (std::uint32_t block = 0; block < 3; ++block) {
      const std::uint32_t channels = 16U << stage, stride = stage > 0 && block == 0 ? 2 : 1;
      const TensorNetwork::Tensor middle = network.Convolve(x, 2 * room, channels, 3, stride);
      if (stride == 2) x = network.Convolve(x, x.address == 0 ? room : 0, channels, 1, 2);
      const std::uint32_t to = x.address == 0 ? room : 0;
      x = network.Convolve(middle, to, channels, 3, 1, &x);
    }
  }
  network.Output(network.Convolve(network.Average(x, 2 * room), 2 * room + 64, 10, 1, 1));
  return network;
}

// MobileNetV2 for CIFAR: the usual blocks with strides of 1 until the side is 32 / 8. Depthwise
// convolutions replace their inputs.
inline TensorNetwork MobileNetV2(const TensorUnitSize& size, std::uint64_t seed) {
  struct Stage {
    std::uint32_t expansion, channels, blocks, stride;
  };
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 1},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  TensorNetwork network(size, seed);
  const std::uint32_t room = 1024 * TensorBlocks(32, size);
  TensorNetwork::Tensor x = network.Convolve(network.Input(3, 32), room, 32, 3, 1);
  for (const Stage& stage : kStages) {
    for (std::uint32_t block = 0; block < stage.blocks; ++block) {
      const std::uint32_t stride = block == 0 ? stage.stride : 1;
      const bool sums = stride == 1 && x.channels == stage.channels;
      const TensorNetwork::Tensor wide = network.Convolve(x, 2 * room, stage.expansion * x.channels, 1, 1);
      const TensorNetwork::Tensor filtered = network.Depthwise(wide, 2 * room, stride);
      const std::uint32_t to = x.address == 0 ? room : 0;
      x = network.Convolve(filtered, to, stage.channels, 1, 1, sums ? &x : nullptr);
    }
  }
  const TensorNetwork::Tensor wide = network.Convolve(x, 2 * room, 1280, 1, 1);
  network.Output(network.Convolve(network.Average(wide, 0), 2 * room, 10, 1, 1));
  return network;
}

}  // namespace tributary::fpga
