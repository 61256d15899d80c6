// Programs and tensors of int16 and int32.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fmt/format.h"
#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_words.h"

namespace tributary::fpga {

absl::Status TensorProgramBuilder::ConvolveInt16(TensorCommand command, std::uint32_t outputs,
                                                 std::uint32_t inputs, std::span<const std::int16_t> weights,
                                                 std::span<const TensorInt16Channel> channels) {
  const std::size_t taps = std::size_t{command.kernel_height} * command.kernel_width;
  if (weights.size() != taps * inputs * outputs || channels.size() != outputs) {
    return absl::InvalidArgumentError(fmt::format("{} weights and {} channels, expected {} and {}",
                                                  weights.size(), channels.size(), taps * inputs * outputs,
                                                  outputs));
  }
  command.opcode = TensorOpcode::kConvolve;
  command.precision = TensorPrecision::kInt16;
  command.input_blocks = static_cast<std::uint16_t>(TensorHalfBlocks(inputs, size_));
  command.output_blocks = static_cast<std::uint16_t>(TensorHalfBlocks(outputs, size_));
  Append(command);
  const std::vector<std::uint16_t> bits(weights.begin(), weights.end());
  for (std::uint32_t block = 0; block < command.output_blocks; ++block) {
    AppendHalfTiles(command, block, outputs, inputs, bits);
    for (std::size_t lane = 0; lane < size_.half_lanes(); ++lane) {
      const std::size_t output = block * size_.half_lanes() + lane;
      const auto words = EncodeInt16Channel(output < outputs ? channels[output] : TensorInt16Channel());
      words_.insert(words_.end(), words.begin(), words.end());
    }
  }
  return absl::OkStatus();
}

std::vector<std::uint64_t> PackInt16Tensor(std::span<const std::int16_t> values, std::uint32_t channels,
                                           const TensorUnitSize& size) {
  const std::size_t pixels = channels == 0 ? 0 : values.size() / channels;
  std::vector<std::uint64_t> words(TensorHalfBlocks(channels, size) * pixels * size.vector_words());
  for (std::size_t i = 0; i < values.size(); ++i) {
    PutHalf(words, PlaceOf(i / pixels, i % pixels, pixels, size.half_lanes()),
            static_cast<std::uint16_t>(values[i]));
  }
  return words;
}

std::vector<std::int16_t> UnpackInt16Tensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                            const TensorUnitSize& size) {
  const std::size_t pixels = PixelsOf(words, TensorHalfBlocks(channels, size), size);
  std::vector<std::int16_t> values(channels * pixels);
  Unpack(words, channels, pixels, 16, size.half_lanes(),
         [&](std::size_t at, std::uint32_t bits) { values[at] = static_cast<std::int16_t>(bits); });
  return values;
}

std::vector<std::int32_t> UnpackInt32Tensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                            const TensorUnitSize& size) {
  const std::size_t pixels = PixelsOf(words, TensorQuarterBlocks(channels, size), size);
  std::vector<std::int32_t> values(channels * pixels);
  Unpack(words, channels, pixels, 32, size.quarter_lanes(),
         [&](std::size_t at, std::uint32_t bits) { values[at] = static_cast<std::int32_t>(bits); });
  return values;
}

}  // namespace tributary::fpga
