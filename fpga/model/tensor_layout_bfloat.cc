// Programs and tensors of bfloat16 and float32.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fmt/format.h"
#include "fpga/model/tensor_layout.h"

namespace tributary::fpga {
namespace {

// Where a value of a [channels][pixels] tensor lies among the values of its vectors.
std::size_t PlaceOf(std::size_t channel, std::size_t pixel, std::size_t pixels, std::size_t per_vector) {
  return (channel / per_vector * pixels + pixel) * per_vector + channel % per_vector;
}

// `bits` of a value: 16 or 32.
std::uint32_t ValueAt(std::span<const std::uint64_t> words, std::size_t at, unsigned bits) {
  const std::size_t per_word = 64 / bits;
  return static_cast<std::uint32_t>(words[at / per_word] >> (bits * (at % per_word)) &
                                    ((std::uint64_t{1} << bits) - 1));
}

// Calls found(channel * pixels + pixel, bits of the value) for every value of the channels.
template <typename Found>
void Unpack(std::span<const std::uint64_t> words, std::uint32_t channels, std::size_t pixels, unsigned bits,
            std::size_t per_vector, Found found) {
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      found(channel * pixels + pixel, ValueAt(words, PlaceOf(channel, pixel, pixels, per_vector), bits));
    }
  }
}

std::size_t PixelsOf(std::size_t words, std::uint32_t blocks, const TensorUnitSize& size) {
  return blocks == 0 ? 0 : words / size.vector_words() / blocks;
}

}  // namespace

absl::Status TensorProgramBuilder::ConvolveBfloat(TensorCommand command, std::uint32_t outputs,
                                                  std::uint32_t inputs,
                                                  std::span<const std::uint16_t> weights,
                                                  std::span<const float> biases) {
  const std::size_t n = size_.bfloat_lanes();
  const std::size_t taps = std::size_t{command.kernel_height} * command.kernel_width;
  if (weights.size() != taps * inputs * outputs || biases.size() != outputs) {
    return absl::InvalidArgumentError(fmt::format("{} weights and {} biases, expected {} and {}",
                                                  weights.size(), biases.size(), taps * inputs * outputs,
                                                  outputs));
  }
  command.opcode = TensorOpcode::kConvolve;
  command.precision = TensorPrecision::kBfloat16;
  command.input_blocks = static_cast<std::uint16_t>(TensorBfloatBlocks(inputs, size_));
  command.output_blocks = static_cast<std::uint16_t>(TensorBfloatBlocks(outputs, size_));
  Append(command);
  for (std::size_t block = 0; block < command.output_blocks; ++block) {
    for (std::size_t output = block * n; output < (block + 1) * n; ++output) {
      words_.push_back(output < outputs ? std::bit_cast<std::uint32_t>(biases[output]) : 0);
    }
    for (std::size_t tile = 0; tile < command.input_blocks * taps; ++tile) {
      std::vector<std::uint64_t> words(TensorTileWords(command, size_));
      for (std::size_t i = 0; i < n * n; ++i) {
        const std::size_t input = tile / taps * n + i / n, output = block * n + i % n;
        if (input >= inputs || output >= outputs) continue;
        const std::uint64_t weight = weights[(output * inputs + input) * taps + tile % taps];
        words[i / 4] |= weight << (16 * (i % 4));
      }
      words_.insert(words_.end(), words.begin(), words.end());
    }
  }
  return absl::OkStatus();
}

std::vector<std::uint64_t> PackBfloatTensor(std::span<const std::uint16_t> values, std::uint32_t channels,
                                            const TensorUnitSize& size) {
  const std::size_t pixels = channels == 0 ? 0 : values.size() / channels;
  std::vector<std::uint64_t> words(TensorBfloatBlocks(channels, size) * pixels * size.vector_words());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = PlaceOf(i / pixels, i % pixels, pixels, size.lanes / 2);
    words[at / 4] |= std::uint64_t{values[i]} << (16 * (at % 4));
  }
  return words;
}

std::vector<std::uint16_t> UnpackBfloatTensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                              const TensorUnitSize& size) {
  const std::size_t pixels = PixelsOf(words.size(), TensorBfloatBlocks(channels, size), size);
  std::vector<std::uint16_t> values(channels * pixels);
  Unpack(words, channels, pixels, 16, size.lanes / 2,
         [&](std::size_t at, std::uint32_t bits) { values[at] = static_cast<std::uint16_t>(bits); });
  return values;
}

std::vector<float> UnpackFloatTensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                     const TensorUnitSize& size) {
  const std::size_t pixels = PixelsOf(words.size(), TensorFloatBlocks(channels, size), size);
  std::vector<float> values(channels * pixels);
  Unpack(words, channels, pixels, 32, size.lanes / 4,
         [&](std::size_t at, std::uint32_t bits) { values[at] = std::bit_cast<float>(bits); });
  return values;
}

}  // namespace tributary::fpga
