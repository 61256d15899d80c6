// Programs and tensors of numbers of 16 and 32 bits.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fmt/format.h"
#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_words.h"

namespace tributary::fpga {

template <typename Value>
absl::Status TensorProgramBuilder::AppendConvolve(TensorCommand& command, TensorPrecision precision,
                                                  std::uint32_t outputs, std::uint32_t inputs,
                                                  std::span<const Value> weights, std::size_t channels) {
  const std::size_t taps = std::size_t{command.kernel_height} * command.kernel_width;
  if (weights.size() != taps * inputs * outputs || channels != outputs) {
    return absl::InvalidArgumentError(fmt::format("{} weights and {} channels, expected {} and {}",
                                                  weights.size(), channels, taps * inputs * outputs,
                                                  outputs));
  }
  command.opcode = TensorOpcode::kConvolve;
  command.precision = precision;
  command.input_blocks = static_cast<std::uint16_t>(BlocksOf<Value>(inputs, size_));
  command.output_blocks = static_cast<std::uint16_t>(BlocksOf<Value>(outputs, size_));
  Append(command);
  return absl::OkStatus();
}

template <typename Value>
void TensorProgramBuilder::AppendTiles(const TensorCommand& command, std::uint32_t block,
                                       std::uint32_t outputs, std::uint32_t inputs,
                                       std::span<const Value> weights) {
  const std::size_t n = size_.lanes / sizeof(Value);
  const std::size_t taps = std::size_t{command.kernel_height} * command.kernel_width;
  for (std::size_t tile = 0; tile < command.input_blocks * taps; ++tile) {
    std::vector<std::uint64_t> words(TensorTileWords(command, size_));
    for (std::size_t i = 0; i < n * n; ++i) {
      const std::size_t input = tile / taps * n + i / n, output = block * n + i % n;
      if (input >= inputs || output >= outputs) continue;
      PutValue(words, i, weights[(output * inputs + input) * taps + tile % taps]);
    }
    words_.insert(words_.end(), words.begin(), words.end());
  }
}

template <typename Value>
absl::Status TensorProgramBuilder::ConvolveFloats(TensorCommand command, TensorPrecision precision,
                                                  std::uint32_t outputs, std::uint32_t inputs,
                                                  std::span<const Value> weights,
                                                  std::span<const float> biases) {
  const absl::Status status = AppendConvolve(command, precision, outputs, inputs, weights, biases.size());
  if (!status.ok()) return status;
  const std::size_t n = size_.lanes / sizeof(Value);
  for (std::uint32_t block = 0; block < command.output_blocks; ++block) {
    for (std::size_t output = block * n; output < (block + 1) * n; ++output) {
      words_.push_back(output < outputs ? std::bit_cast<std::uint32_t>(biases[output]) : 0);
    }
    AppendTiles(command, block, outputs, inputs, weights);
  }
  return absl::OkStatus();
}

template <typename Value, typename Channel, typename Encode>
absl::Status TensorProgramBuilder::ConvolveIntegers(TensorCommand command, TensorPrecision precision,
                                                    std::uint32_t outputs, std::uint32_t inputs,
                                                    std::span<const Value> weights,
                                                    std::span<const Channel> channels, Encode encode) {
  const absl::Status status = AppendConvolve(command, precision, outputs, inputs, weights, channels.size());
  if (!status.ok()) return status;
  const std::size_t n = size_.lanes / sizeof(Value);
  for (std::uint32_t block = 0; block < command.output_blocks; ++block) {
    AppendTiles(command, block, outputs, inputs, weights);
    for (std::size_t output = block * n; output < (block + 1) * n; ++output) {
      const auto words = encode(output < outputs ? channels[output] : Channel());
      words_.insert(words_.end(), words.begin(), words.end());
    }
  }
  return absl::OkStatus();
}

absl::Status TensorProgramBuilder::ConvolveBfloat(TensorCommand command, std::uint32_t outputs,
                                                  std::uint32_t inputs,
                                                  std::span<const std::uint16_t> weights,
                                                  std::span<const float> biases) {
  return ConvolveFloats(command, TensorPrecision::kBfloat16, outputs, inputs, weights, biases);
}

absl::Status TensorProgramBuilder::ConvolveInt16(TensorCommand command, std::uint32_t outputs,
                                                 std::uint32_t inputs, std::span<const std::int16_t> weights,
                                                 std::span<const TensorInt16Channel> channels) {
  return ConvolveIntegers(command, TensorPrecision::kInt16, outputs, inputs, weights, channels,
                          EncodeInt16Channel);
}

absl::Status TensorProgramBuilder::ConvolveInt32(TensorCommand command, std::uint32_t outputs,
                                                 std::uint32_t inputs, std::span<const std::int32_t> weights,
                                                 std::span<const TensorInt32Channel> channels) {
  return ConvolveIntegers(command, TensorPrecision::kInt32, outputs, inputs, weights, channels,
                          EncodeInt32Channel);
}

absl::Status TensorProgramBuilder::ConvolveFloat32(TensorCommand command, std::uint32_t outputs,
                                                   std::uint32_t inputs, std::span<const float> weights,
                                                   std::span<const float> biases) {
  return ConvolveFloats(command, TensorPrecision::kFloat32, outputs, inputs, weights, biases);
}

std::vector<std::uint64_t> PackBfloatTensor(std::span<const std::uint16_t> values, std::uint32_t channels,
                                            const TensorUnitSize& size) {
  return PackValues(values, channels, size);
}
std::vector<std::uint16_t> UnpackBfloatTensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                              const TensorUnitSize& size) {
  return UnpackValues<std::uint16_t>(words, channels, size);
}

std::vector<std::uint64_t> PackFloatTensor(std::span<const float> values, std::uint32_t channels,
                                           const TensorUnitSize& size) {
  return PackValues(values, channels, size);
}
std::vector<float> UnpackFloatTensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                     const TensorUnitSize& size) {
  return UnpackValues<float>(words, channels, size);
}

std::vector<std::uint64_t> PackInt16Tensor(std::span<const std::int16_t> values, std::uint32_t channels,
                                           const TensorUnitSize& size) {
  return PackValues(values, channels, size);
}
std::vector<std::int16_t> UnpackInt16Tensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                            const TensorUnitSize& size) {
  return UnpackValues<std::int16_t>(words, channels, size);
}

std::vector<std::uint64_t> PackInt32Tensor(std::span<const std::int32_t> values, std::uint32_t channels,
                                           const TensorUnitSize& size) {
  return PackValues(values, channels, size);
}
std::vector<std::int32_t> UnpackInt32Tensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                            const TensorUnitSize& size) {
  return UnpackValues<std::int32_t>(words, channels, size);
}

}  // namespace tributary::fpga
