// The arithmetic of the tensor unit in int32 (TensorPrecision::kInt32), bit for bit.
//
// Activations and weights are int32, and the pad value is 0. Sums have 96 bits and are exact: a CONVOLVE adds
// at most 256 · N / 4 · 255^2 products of at most 2^62, which stays below 2^89. For every channel of a sum s:
//   t = (s + bias) · 2^8 / 2^shift, halves rounded up, saturated to 40 bits
//   r = t · multiplier / 2^41, halves to even
//   q = clamp(r, low, high)
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "fpga/model/tensor_program.h"

namespace tributary::fpga {

inline constexpr int kInt32SumBits = 40;  // of t
inline constexpr int kInt32ScaleShift = 41;
inline constexpr int kInt32BiasBits = 88;  // with any sum less than 96

// What a command has in word 6 instead of the pad value and TensorOutput: two fields of 32 bits.
struct TensorInt32Output {
  std::int32_t low = std::numeric_limits<std::int32_t>::min();
  std::int32_t high = std::numeric_limits<std::int32_t>::max();
};
TensorInt32Output Int32Output(const TensorCommand& command);
void SetInt32Output(const TensorInt32Output& output, TensorCommand& command);

// Four words per output channel, N per block, behind the weights of the block: 47:0 bits 47:0 of the bias;
// 39:0 its bits 87:48; 33:0 multiplier; 5:0 shift.
struct TensorInt32Channel {
  absl::int128 bias = 0;         // of 88 bits
  std::uint64_t multiplier = 0;  // of 34 bits
  std::uint8_t shift = 0;        // 0 … 63
};
std::array<std::uint64_t, 4> EncodeInt32Channel(const TensorInt32Channel& channel);
TensorInt32Channel DecodeInt32Channel(std::span<const std::uint64_t, 4> words);

std::int32_t Int32ScaledOutputOf(absl::int128 sum, const TensorInt32Channel& channel,
                                 const TensorInt32Output& output);

// The multiplier and shift whose product is nearest to `scale`, without a bias. With them r is within 1 of
// scale · (s + bias) rounded half to even, wherever the size of that is at most 2^31; it differs from it only
// within Int32RoundingSlack of a tie. InvalidArgument: scale is not in (0, 2).
absl::StatusOr<TensorInt32Channel> Int32ChannelOf(double scale);

// In units of the result: 2^-8 from the first shift, 2^-34 of the result from the multiplier.
constexpr double Int32RoundingSlack(double result) {
  return 1.0 / 256 + (result < 0 ? -result : result) / (std::int64_t{1} << 34);
}

}  // namespace tributary::fpga
