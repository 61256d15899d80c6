// The arithmetic of the tensor unit in int16 (TensorPrecision::kInt16), bit for bit.
//
// Activations and weights are int16. Sums have 64 bits and are exact: a CONVOLVE adds at most 256 · N / 2 ·
// 255^2 products of at most 2^30, which stays below 2^58. For every channel of a sum s:
//   t = (s + bias) · 2^8 / 2^shift, halves rounded up
//   r = (t saturated to 25 bits) · multiplier / 2^24, halves to even
//   q = clamp(r + zero, low, high)
// With kTensorInt32 the result is t saturated to 32 bits: s + bias itself for a shift of 8.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "fpga/model/tensor_program.h"

namespace tributary::fpga {

inline constexpr int kInt16SumBits = 25;  // of t
inline constexpr int kInt16ScaleShift = 24;
inline constexpr int kInt16BiasBits = 48;

// What a command has in word 6 instead of the pad value and the first of TensorOutput: four fields of 16
// bits.
struct TensorInt16Output {
  std::int16_t pad = 0, zero = 0, low = -32768, high = 32767;
};
TensorInt16Output Int16Output(const TensorCommand& command);
void SetInt16Output(const TensorInt16Output& output, TensorCommand& command);

// Two words per output channel, N per block, behind the weights of the block: bits 47:0 bias; then 16:0
// multiplier, 37:32 shift.
struct TensorInt16Channel {
  std::int64_t bias = 0;         // of 48 bits
  std::uint32_t multiplier = 0;  // of 17 bits
  std::uint8_t shift = 0;        // 0 … 63
};
std::array<std::uint64_t, 2> EncodeInt16Channel(const TensorInt16Channel& channel);
TensorInt16Channel DecodeInt16Channel(std::uint64_t bias, std::uint64_t scale);

std::int16_t Int16OutputOf(std::int64_t sum, const TensorInt16Channel& channel,
                           const TensorInt16Output& output);
std::int32_t Int32OutputOf(std::int64_t sum, const TensorInt16Channel& channel);

// The multiplier and shift whose product is nearest to `scale`, without a bias. With them r is within 1 of
// scale · (s + bias) rounded half to even, wherever the size of that is at most 2^15; it differs from it only
// within Int16RoundingSlack of a tie. InvalidArgument: scale is not in (0, 2).
absl::StatusOr<TensorInt16Channel> Int16ChannelOf(double scale);

// In units of the result: 2^-8 from the first shift, 2^-17 of the result from the multiplier.
constexpr double Int16RoundingSlack(double result) {
  return 1.0 / 256 + (result < 0 ? -result : result) / (1 << 17);
}

}  // namespace tributary::fpga
