// Writes programs of the tensor unit, and packs tensors as the unit lays them out (tensor_program.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fpga/model/tensor_float32.h"
#include "fpga/model/tensor_int16.h"
#include "fpga/model/tensor_int32.h"
#include "fpga/model/tensor_program.h"

namespace tributary::fpga {

// The multiplier and shifts whose product is nearest to `scale`, without a bias. With them the output stage's
// r is within 1 of scale · (s + bias) rounded half to even, wherever |scale · (s + bias)| is at most 256; it
// differs from it only within kTensorRoundingSlack of a tie. InvalidArgument: scale is not in (0, 2).
absl::StatusOr<TensorChannel> TensorChannelOf(double scale);

// In units of the result: 2^-8 from the first shift, 2^-8 from the multiplier of 16 bits.
inline constexpr double kTensorRoundingSlack = 1.0 / 128;

// The channel that passes an int8 through unchanged.
inline constexpr TensorChannel kTensorIdentity = {.bias = 0, .multiplier = 1 << 15, .shift = 0};

// The multipliers for u = own · (q - zero) + residual · (p - residual_zero). u is within 1 of exact rounding,
// and differs from it only within 1/64 of a tie: two differences of at most 255 times multipliers of 14 bits
// behind the point. InvalidArgument: a factor is not in [0, 4).
absl::Status SetTensorSum(double own, double residual, TensorOutput& output);

// Appends commands with what follows them. Sizes and opcodes are set here; the caller fills in the rest.
// Every function returns InvalidArgument for a wrong number of weights or channels or for a weight of -128,
// and then appends nothing. Ranges are checked by CheckTensorProgram.
class TensorProgramBuilder {
 public:
  explicit TensorProgramBuilder(const TensorUnitSize& size) : size_(size) {}

  // `vectors` from a word of the input buffer, or with kTensorFromOutput of the output buffer, to a vector's
  // address.
  void Load(std::uint32_t word, std::uint32_t address, std::uint32_t vectors, std::uint16_t flags = 0);
  void Store(std::uint32_t address, std::uint32_t word, std::uint32_t vectors, std::uint16_t flags = 0);

  // weights: [outputs][inputs][kernel_height][kernel_width]; channels: one per output. Sets input_blocks and
  // output_blocks. Lanes beyond the last input have weights of 0; those beyond the last output compute with
  // weights, bias and multiplier of 0.
  absl::Status Convolve(TensorCommand command, std::uint32_t outputs, std::uint32_t inputs,
                        std::span<const std::int8_t> weights, std::span<const TensorChannel> channels);

  // The same in bfloat16, given by its bits. Lanes beyond the last output have weights and biases of 0.
  // SetBfloatOutput (tensor_program.h) gives the command its pad value and limits, kTensorFloat32 results of
  // float32.
  absl::Status ConvolveBfloat(TensorCommand command, std::uint32_t outputs, std::uint32_t inputs,
                              std::span<const std::uint16_t> weights, std::span<const float> biases);

  // The same in int16. SetInt16Output (tensor_int16.h) gives the command its pad value, zero point and
  // limits, kTensorInt32 results of int32.
  absl::Status ConvolveInt16(TensorCommand command, std::uint32_t outputs, std::uint32_t inputs,
                             std::span<const std::int16_t> weights,
                             std::span<const TensorInt16Channel> channels);

  // The same in int32. SetInt32Output (tensor_int32.h) gives the command its limits.
  absl::Status ConvolveInt32(TensorCommand command, std::uint32_t outputs, std::uint32_t inputs,
                             std::span<const std::int32_t> weights,
                             std::span<const TensorInt32Channel> channels);

  // The same in float32. SetFloat32Output (tensor_float32.h) gives the command its limits.
  absl::Status ConvolveFloat32(TensorCommand command, std::uint32_t outputs, std::uint32_t inputs,
                               std::span<const float> weights, std::span<const float> biases);

  // weights: [channels][3][3]. Sets output_blocks and the kernel.
  absl::Status Depthwise(TensorCommand command, std::span<const std::int8_t> weights,
                         std::span<const TensorChannel> channels);

  // opcode kMaxPool or kSumPool; channels: one per channel. Sets output_blocks.
  absl::Status Pool(TensorCommand command, std::span<const TensorChannel> channels);

  void End();

  std::uint32_t commands() const { return commands_; }
  const std::vector<std::uint64_t>& words() const { return words_; }

 private:
  void Append(const TensorCommand& command);
  void AppendBytes(std::span<const std::int8_t> bytes);
  void AppendChannels(std::span<const TensorChannel> channels, std::uint32_t block);

  // Numbers of 16 and 32 bits (tensor_layout_wide.cc): a command whose counts are right, all tiles of a
  // block, and whole convolutions.
  template <typename Value>
  absl::Status AppendConvolve(TensorCommand& command, TensorPrecision precision, std::uint32_t outputs,
                              std::uint32_t inputs, std::span<const Value> weights, std::size_t channels);
  template <typename Value>
  void AppendTiles(const TensorCommand& command, std::uint32_t block, std::uint32_t outputs,
                   std::uint32_t inputs, std::span<const Value> weights);
  template <typename Value>
  absl::Status ConvolveFloats(TensorCommand command, TensorPrecision precision, std::uint32_t outputs,
                              std::uint32_t inputs, std::span<const Value> weights,
                              std::span<const float> biases);
  template <typename Value, typename Channel, typename Encode>
  absl::Status ConvolveIntegers(TensorCommand command, TensorPrecision precision, std::uint32_t outputs,
                                std::uint32_t inputs, std::span<const Value> weights,
                                std::span<const Channel> channels, Encode encode);

  TensorUnitSize size_;
  std::vector<std::uint64_t> words_;
  std::uint32_t commands_ = 0;
};

// A program of two parts. `first` keeps the weights of as many commands as the memory has room for and runs
// them; `later` gives the same results without them, and reads only what was not kept from the device's
// memory. It needs `first` to have run before, and no other program that keeps weights since.
struct KeptTensorProgram {
  std::vector<std::uint64_t> first, later;
  std::uint32_t kept_words = 0;
};
// `program` passes CheckTensorProgram and keeps nothing itself.
KeptTensorProgram KeepTensorWeights(std::span<const std::uint64_t> program, const TensorUnitSize& size);

inline std::uint32_t TensorBlocks(std::uint32_t channels, const TensorUnitSize& size) {
  return (channels + size.lanes - 1) / size.lanes;
}

// [channels][pixels] to the unit's vectors as device words, and back. Lanes beyond the last channel become
// `fill`.
std::vector<std::uint64_t> PackTensor(std::span<const std::int8_t> values, std::uint32_t channels,
                                      const TensorUnitSize& size, std::int8_t fill = 0);
std::vector<std::int8_t> UnpackTensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                      const TensorUnitSize& size);

// The same for int16, for bfloat16, by its bits, for int32 and for float32. Lanes beyond
// the last channel become 0. Blocks have N / 2 and N / 4 channels; a CONVOLVE with kTensorFloat32 or
// kTensorInt32 writes two for each of its own.
inline std::uint32_t TensorHalfBlocks(std::uint32_t channels, const TensorUnitSize& size) {
  return (channels + size.half_lanes() - 1) / size.half_lanes();
}
inline std::uint32_t TensorQuarterBlocks(std::uint32_t channels, const TensorUnitSize& size) {
  return (channels + size.quarter_lanes() - 1) / size.quarter_lanes();
}
std::vector<std::uint64_t> PackBfloatTensor(std::span<const std::uint16_t> values, std::uint32_t channels,
                                            const TensorUnitSize& size);
std::vector<std::uint16_t> UnpackBfloatTensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                              const TensorUnitSize& size);
std::vector<std::uint64_t> PackFloatTensor(std::span<const float> values, std::uint32_t channels,
                                           const TensorUnitSize& size);
std::vector<float> UnpackFloatTensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                     const TensorUnitSize& size);
std::vector<std::uint64_t> PackInt16Tensor(std::span<const std::int16_t> values, std::uint32_t channels,
                                           const TensorUnitSize& size);
std::vector<std::int16_t> UnpackInt16Tensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                            const TensorUnitSize& size);
std::vector<std::uint64_t> PackInt32Tensor(std::span<const std::int32_t> values, std::uint32_t channels,
                                           const TensorUnitSize& size);
std::vector<std::int32_t> UnpackInt32Tensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                            const TensorUnitSize& size);

}  // namespace tributary::fpga
