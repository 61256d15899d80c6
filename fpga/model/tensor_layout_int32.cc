// Programs and tensors of int32.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fmt/format.h"
#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_words.h"

namespace tributary::fpga {

absl::Status TensorProgramBuilder::ConvolveInt32(TensorCommand command, std::uint32_t outputs,
                                                 std::uint32_t inputs, std::span<const std::int32_t> weights,
                                                 std::span<const TensorInt32Channel> channels) {
  const std::size_t n = size_.quarter_lanes();
  const std::size_t taps = std::size_t{command.kernel_height} * command.kernel_width;
  if (weights.size() != taps * inputs * outputs || channels.size() != outputs) {
    return absl::InvalidArgumentError(fmt::format("{} weights and {} channels, expected {} and {}",
                                                  weights.size(), channels.size(), taps * inputs * outputs,
                                                  outputs));
  }
  command.opcode = TensorOpcode::kConvolve;
  command.precision = TensorPrecision::kInt32;
  command.input_blocks = static_cast<std::uint16_t>(TensorQuarterBlocks(inputs, size_));
  command.output_blocks = static_cast<std::uint16_t>(TensorQuarterBlocks(outputs, size_));
  Append(command);
  for (std::size_t block = 0; block < command.output_blocks; ++block) {
    for (std::size_t tile = 0; tile < command.input_blocks * taps; ++tile) {
      std::vector<std::uint64_t> words(TensorTileWords(command, size_));
      for (std::size_t i = 0; i < n * n; ++i) {
        const std::size_t input = tile / taps * n + i / n, output = block * n + i % n;
        if (input >= inputs || output >= outputs) continue;
        PutWord(words, i, weights[(output * inputs + input) * taps + tile % taps]);
      }
      words_.insert(words_.end(), words.begin(), words.end());
    }
    for (std::size_t output = block * n; output < (block + 1) * n; ++output) {
      const auto words = EncodeInt32Channel(output < outputs ? channels[output] : TensorInt32Channel());
      words_.insert(words_.end(), words.begin(), words.end());
    }
  }
  return absl::OkStatus();
}

std::vector<std::uint64_t> PackInt32Tensor(std::span<const std::int32_t> values, std::uint32_t channels,
                                           const TensorUnitSize& size) {
  const std::size_t pixels = channels == 0 ? 0 : values.size() / channels;
  std::vector<std::uint64_t> words(TensorQuarterBlocks(channels, size) * pixels * size.vector_words());
  for (std::size_t i = 0; i < values.size(); ++i) {
    PutWord(words, PlaceOf(i / pixels, i % pixels, pixels, size.quarter_lanes()), values[i]);
  }
  return words;
}

}  // namespace tributary::fpga
