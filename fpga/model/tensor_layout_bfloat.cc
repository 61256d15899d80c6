// Programs and tensors of bfloat16 and float32.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fmt/format.h"
#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_words.h"

namespace tributary::fpga {

void TensorProgramBuilder::AppendHalfTiles(const TensorCommand& command, std::uint32_t block,
                                           std::uint32_t outputs, std::uint32_t inputs,
                                           std::span<const std::uint16_t> weights) {
  const std::size_t n = size_.half_lanes();
  const std::size_t taps = std::size_t{command.kernel_height} * command.kernel_width;
  for (std::size_t tile = 0; tile < command.input_blocks * taps; ++tile) {
    std::vector<std::uint64_t> words(TensorTileWords(command, size_));
    for (std::size_t i = 0; i < n * n; ++i) {
      const std::size_t input = tile / taps * n + i / n, output = block * n + i % n;
      if (input >= inputs || output >= outputs) continue;
      PutHalf(words, i, weights[(output * inputs + input) * taps + tile % taps]);
    }
    words_.insert(words_.end(), words.begin(), words.end());
  }
}

absl::Status TensorProgramBuilder::ConvolveBfloat(TensorCommand command, std::uint32_t outputs,
                                                  std::uint32_t inputs,
                                                  std::span<const std::uint16_t> weights,
                                                  std::span<const float> biases) {
  const std::size_t n = size_.half_lanes();
  const std::size_t taps = std::size_t{command.kernel_height} * command.kernel_width;
  if (weights.size() != taps * inputs * outputs || biases.size() != outputs) {
    return absl::InvalidArgumentError(fmt::format("{} weights and {} biases, expected {} and {}",
                                                  weights.size(), biases.size(), taps * inputs * outputs,
                                                  outputs));
  }
  command.opcode = TensorOpcode::kConvolve;
  command.precision = TensorPrecision::kBfloat16;
  command.input_blocks = static_cast<std::uint16_t>(TensorHalfBlocks(inputs, size_));
  command.output_blocks = static_cast<std::uint16_t>(TensorHalfBlocks(outputs, size_));
  Append(command);
  for (std::uint32_t block = 0; block < command.output_blocks; ++block) {
    for (std::size_t output = block * n; output < (block + 1) * n; ++output) {
      words_.push_back(output < outputs ? std::bit_cast<std::uint32_t>(biases[output]) : 0);
    }
    AppendHalfTiles(command, block, outputs, inputs, weights);
  }
  return absl::OkStatus();
}

std::vector<std::uint64_t> PackBfloatTensor(std::span<const std::uint16_t> values, std::uint32_t channels,
                                            const TensorUnitSize& size) {
  const std::size_t pixels = channels == 0 ? 0 : values.size() / channels;
  std::vector<std::uint64_t> words(TensorHalfBlocks(channels, size) * pixels * size.vector_words());
  for (std::size_t i = 0; i < values.size(); ++i) {
    PutHalf(words, PlaceOf(i / pixels, i % pixels, pixels, size.half_lanes()), values[i]);
  }
  return words;
}

std::vector<std::uint16_t> UnpackBfloatTensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                              const TensorUnitSize& size) {
  const std::size_t pixels = PixelsOf(words, TensorHalfBlocks(channels, size), size);
  std::vector<std::uint16_t> values(channels * pixels);
  Unpack(words, channels, pixels, 16, size.half_lanes(),
         [&](std::size_t at, std::uint32_t bits) { values[at] = static_cast<std::uint16_t>(bits); });
  return values;
}

std::vector<float> UnpackFloatTensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                     const TensorUnitSize& size) {
  const std::size_t pixels = PixelsOf(words, TensorQuarterBlocks(channels, size), size);
  std::vector<float> values(channels * pixels);
  Unpack(words, channels, pixels, 32, size.quarter_lanes(),
         [&](std::size_t at, std::uint32_t bits) { values[at] = std::bit_cast<float>(bits); });
  return values;
}

}  // namespace tributary::fpga
