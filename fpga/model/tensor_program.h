// The program of the tensor unit (fpga/rtl/tensor): its commands, their checks and its words.
//
// A program is one stream of 64-bit words that the unit reads once, in order: commands of 8 words, each
// followed at once by its weights and its channel words. There are no jumps, so every program ends.
// TensorProgramBuilder (tensor_layout.h) writes the stream.
//
// The unit has N lanes. A tensor of int8 lies in the activation memory as [block][row][column] vectors of N
// channels; channel c is lane c % N of block c / N. A vector is one word of that memory and N / 8 words of
// the device's memory, lane 0 in the low byte of the first word. Lanes beyond the last channel are computed
// like others. Tensors of other numbers lie in the same way, with as many channels as a vector has room for:
// N / 2 of bfloat16 and int16, N / 4 of float32 and int32.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"

namespace tributary::fpga {

// Parameters of an instance; the defaults are those of tensor_kernel.sv.
struct TensorUnitSize {
  std::uint32_t lanes = 16;             // N: rows and columns of the matrix; 8, 16 or 32
  std::uint32_t activations = 1 << 14;  // vectors of the activation memory; a power of two, at most 2^16
  std::uint32_t pixels = 1024;          // accumulators per column: output pixels of one CONVOLVE
  std::uint32_t line = 512;             // columns of one DEPTHWISE, padding included
  std::uint32_t kept = 8192;            // words of the memory for weights that stay; a power of two
  bool bfloat16 = false;                // has TensorPrecision::kBfloat16
  bool int16 = false;                   // has TensorPrecision::kInt16
  bool int32 = false;                   // has TensorPrecision::kInt32
  bool float32 = false;                 // has TensorPrecision::kFloat32

  std::uint32_t vector_words() const { return lanes / 8; }
  std::uint32_t half_lanes() const {
    return lanes / 2;
  }  // rows and columns of the matrix in bfloat16 and int16
  std::uint32_t quarter_lanes() const { return lanes / 4; }  // and in int32 and float32
};

enum class TensorOpcode : std::uint8_t {
  kEnd = 0,        // the rest of the program is not executed
  kLoad = 1,       // device memory -> activation memory
  kStore = 2,      // activation memory -> device memory
  kConvolve = 3,   // dense; a matrix product of M rows is a 1×1 convolution of a 1×M image
  kDepthwise = 4,  // 3×3
  kMaxPool = 5,    // of any window; 1×1 rescales a tensor, or adds two
  kSumPool = 6,    // an average is a sum that the channel words scale
  kKeep = 7,       // words of the program -> memory for weights that stay, over runs, too
};

// Others are refused. All but kInt8 are for CONVOLVE without a residual.
//   kBfloat16: activations and weights are bfloat16, sums and biases float32, results bfloat16 or float32
//     (tensor_bfloat.h). Blocks have N / 2 channels.
//   kInt16: activations and weights are int16, sums exact, results int16 or int32 (tensor_int16.h). Blocks
//   have
//     N / 2 channels.
//   kInt32: activations, weights and results are int32, sums exact (tensor_int32.h). Blocks have N / 4
//   channels.
//   kFloat32: activations, weights, biases, sums and results are float32 (tensor_float32.h). Blocks have N /
//   4 channels.
enum class TensorPrecision : std::uint8_t { kInt8 = 0, kBfloat16 = 1, kInt16 = 2, kInt32 = 3, kFloat32 = 4 };

// Bits of TensorCommand::flags.
enum TensorFlag : std::uint16_t {
  kTensorFlipSign = 1,    // LOAD, STORE: bit 7 of each byte is inverted, so that uint8 becomes int8 and back
  kTensorFromOutput = 2,  // LOAD: from the output buffer instead of the input buffer
  kTensorResidual = 4,    // CONVOLVE, pools: add a second tensor; see TensorOutput
  kTensorKept = 8,        // CONVOLVE, DEPTHWISE, pools: weights and channel words lie at kept_address
  kTensorFloat32 = 16,  // CONVOLVE in bfloat16: results are the float32 sums, in two blocks of N / 4 channels
  kTensorInt32 = 16,    // CONVOLVE in int16: results have 32 bits, in two blocks of N / 4 channels
};

inline constexpr std::uint32_t kTensorCommandWords = 8;
inline constexpr std::uint32_t kTensorMaxBlocks = 256;
inline constexpr std::uint32_t kTensorMaxSide = 1024;  // rows or columns of a tensor
inline constexpr std::uint32_t kTensorMaxStride = 8;   // 2 for DEPTHWISE
inline constexpr std::uint32_t kTensorMaxKernel = 255;
inline constexpr std::uint32_t kTensorMaxPlane = 1 << 17;

// The output stage, for every channel of a sum s of 32 bits (sums wrap):
//   t = (s + bias) · 2^8 / 2^shift, halves rounded up, saturated to 18 bits
//   r = t · multiplier / 2^23, halves to even
//   q = clamp(r + zero, low, high)
// and with kTensorResidual, for the residual p of the same place:
//   u = ((q - zero) · own_multiplier + (p - residual_zero) · residual_multiplier) / 2^14, halves to even
//   q = clamp(u + sum_zero, sum_low, sum_high)
// TensorChannelOf and SetTensorSum (tensor_layout.h) choose the factors.
inline constexpr int kTensorGuardBits = 8;  // of t, before its shift
inline constexpr int kTensorSumBits = 18;   // of t
inline constexpr int kTensorScaleShift = 23;
inline constexpr int kTensorFactorShift = 14;  // of a sum's multipliers
struct TensorOutput {
  std::int8_t zero = 0, low = -128, high = 127;
  std::int8_t residual_zero = 0;
  std::int8_t sum_zero = 0, sum_low = -128, sum_high = 127;
  std::uint16_t own_multiplier = 0, residual_multiplier = 0;
};

// Words 0 … 7 of a command hold these fields in this order, little endian, each in its own size; unused bits
// are 0. docs/fpga/tensor.md has the table. Addresses count vectors of the activation memory from its begin.
//
// Output pixel (y, x) reads the inputs (origin_y + y·stride_y + i, origin_x + x·stride_x + j) for the
// kernel's i and j. What lies outside the input's height and width reads as pad_value. A strip of rows is a
// command of its own with another origin_y and output_address.
struct TensorCommand {
  TensorOpcode opcode = TensorOpcode::kEnd;
  TensorPrecision precision = TensorPrecision::kInt8;
  std::uint16_t flags = 0;
  std::uint16_t input_blocks = 0;   // CONVOLVE: blocks summed per output; others: 1
  std::uint16_t output_blocks = 0;  // the others go through their input in as many blocks

  std::uint32_t input_address = 0;  // LOAD: 64-bit words from the buffer's begin
  std::uint32_t input_plane =
      0;  // vectors from one block to the next; LOAD, STORE: vectors in all; KEEP: words
  std::uint16_t input_height = 0, input_width = 0;
  std::int16_t origin_y = 0, origin_x = 0;
  std::uint16_t output_height = 0, output_width = 0;  // of this strip
  std::uint8_t kernel_height = 0, kernel_width = 0, stride_y = 0, stride_x = 0;
  std::uint32_t output_address = 0;  // STORE: 64-bit words from the begin of the output buffer
  std::uint32_t output_plane = 0;
  std::uint32_t residual_address = 0;  // read in the order of the outputs
  std::uint32_t residual_plane = 0;
  std::int8_t pad_value = 0;
  TensorOutput output = {};
  std::uint32_t kept_address = 0;  // words of the memory for weights that stay
};

// In bfloat16, bits 47:0 of word 6 have these fields instead of the pad value and the first of TensorOutput.
// Results of bfloat16 are limited to low … high; ReLU is a low of 0.
struct TensorBfloatOutput {
  std::uint16_t pad = 0, low = 0xff80, high = 0x7f80;
};
TensorBfloatOutput BfloatOutput(const TensorCommand& command);
void SetBfloatOutput(const TensorBfloatOutput& output, TensorCommand& command);

// One per output channel, N per block, behind the weights of the block.
// Bits 31:0 bias, 47:32 multiplier, 52:48 shift. In bfloat16 and float32: one per channel of a block, before
// the weights of the block, bits 31:0 a float32 as bias. In int16: two words for each of N / 2 channels
// (tensor_int16.h). In int32: four words for each of N / 4 channels (tensor_int32.h).
struct TensorChannel {
  std::int32_t bias = 0;
  std::uint16_t multiplier = 0;
  std::uint8_t shift = 0;  // 0 … 31
};

std::array<std::uint64_t, kTensorCommandWords> EncodeTensorCommand(const TensorCommand& command);
TensorCommand DecodeTensorCommand(std::span<const std::uint64_t, kTensorCommandWords> words);
std::uint64_t EncodeTensorChannel(const TensorChannel& channel);
TensorChannel DecodeTensorChannel(std::uint64_t word);

// How a run ended: byte 0 of the unit's status. The other bytes are the index of the command, from 0.
enum class TensorStatus : std::uint8_t {
  kOk = 0,
  kBadField = 1,     // a field is out of its range
  kBadAddress = 2,   // the command would leave the activation memory, the accumulators or a buffer
  kBadWeight = 3,    // a weight is -128
  kProgramEnds = 4,  // the program ends within a command, or without END
  kReadFailed = 5,   // the bus answered with an error
  kWriteFailed = 6,
};

// The size of the buffers in 64-bit words.
struct TensorBuffers {
  std::uint64_t input_words = 0, output_words = 0;
};

// What the unit finds wrong with a command before or while it runs: kOk, kBadField or kBadAddress.
TensorStatus CheckTensorCommand(const TensorCommand& command, const TensorUnitSize& size,
                                const TensorBuffers& buffers);

// The precision adds in float32: channel words hold biases and come before the weights.
constexpr bool AddsFloats(TensorPrecision precision) {
  return precision == TensorPrecision::kBfloat16 || precision == TensorPrecision::kFloat32;
}

// Weights and channel words of a command, wherever they lie, and the words that follow a command in the
// program.
std::uint64_t TensorWeightWords(const TensorCommand& command, const TensorUnitSize& size);
std::uint64_t TensorFollowingWords(const TensorCommand& command, const TensorUnitSize& size);
// Weights for one input block and one place of the kernel of a CONVOLVE.
std::uint64_t TensorTileWords(const TensorCommand& command, const TensorUnitSize& size);

// InvalidArgument, with the index of the first command at fault and its status, for what would end a run
// early.
absl::Status CheckTensorProgram(std::span<const std::uint64_t> program, const TensorUnitSize& size,
                                const TensorBuffers& buffers);

}  // namespace tributary::fpga
