#include "fpga/model/tensor_int32.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "fpga/model/fixed_point.h"

namespace tributary::fpga {
namespace {

constexpr int kInt32MultiplierBits = 34;
constexpr int kMostInt32Shift = 63;
constexpr int kLowerBias = 48, kUpperBias = kInt32BiasBits - kLowerBias;

constexpr std::uint64_t LowerBits(std::uint64_t value, int bits) {
  return value & ((std::uint64_t{1} << bits) - 1);
}

// Halves to even.
absl::int128 RoundedToEven(absl::int128 value, int shift) {
  const absl::int128 half = absl::int128{1} << (shift - 1);
  const absl::int128 rounded = (value + half) >> shift;
  const bool tie = ((value + half) & (2 * half - 1)) == 0;
  return tie ? rounded - (rounded & 1) : rounded;
}

}  // namespace

TensorInt32Output Int32Output(const TensorCommand& command) {
  const std::uint64_t word = EncodeTensorCommand(command)[6];
  return {.low = static_cast<std::int32_t>(word), .high = static_cast<std::int32_t>(word >> 32)};
}

void SetInt32Output(const TensorInt32Output& output, TensorCommand& command) {
  auto words = EncodeTensorCommand(command);
  words[6] = static_cast<std::uint32_t>(output.low) | std::uint64_t{static_cast<std::uint32_t>(output.high)}
                                                          << 32;
  command = DecodeTensorCommand(words);
}

std::array<std::uint64_t, 4> EncodeInt32Channel(const TensorInt32Channel& channel) {
  return {LowerBits(absl::Int128Low64(channel.bias), kLowerBias),
          LowerBits(absl::Int128Low64(channel.bias >> kLowerBias), kUpperBias), channel.multiplier,
          channel.shift};
}

TensorInt32Channel DecodeInt32Channel(std::span<const std::uint64_t, 4> words) {
  constexpr int kAbove = 64 - kUpperBias;
  const std::int64_t upper = static_cast<std::int64_t>(words[1] << kAbove) >> kAbove;
  return {.bias = (absl::int128{upper} << kLowerBias) + absl::int128{LowerBits(words[0], kLowerBias)},
          .multiplier = LowerBits(words[2], kInt32MultiplierBits),
          .shift = static_cast<std::uint8_t>(words[3] & kMostInt32Shift)};
}

std::int32_t Int32ScaledOutputOf(absl::int128 sum, const TensorInt32Channel& channel,
                                 const TensorInt32Output& output) {
  // One more guard bit than t, for the rounding.
  const absl::int128 guarded = ((sum + channel.bias) << (kTensorGuardBits + 1)) >> channel.shift;
  const absl::int128 t =
      std::clamp<absl::int128>((guarded + 1) >> 1, MinWord(kInt32SumBits), MaxWord(kInt32SumBits));
  const absl::int128 result = RoundedToEven(t * absl::int128{channel.multiplier}, kInt32ScaleShift);
  return result > output.high  ? output.high
         : result < output.low ? output.low
                               : static_cast<std::int32_t>(result);
}

absl::StatusOr<TensorInt32Channel> Int32ChannelOf(double scale) {
  if (!(scale > 0.0 && scale < 2.0)) {  // NaN fails, too
    return absl::InvalidArgumentError(fmt::format("a scale of {} is not within (0, 2)", scale));
  }
  // scale = multiplier · 2^(guard - shift - scale_shift), with 34 bits of the multiplier in use where the
  // shift allows.
  constexpr int kPoint = kInt32ScaleShift - kTensorGuardBits;
  int shift = std::clamp(-std::ilogb(scale), 0, kMostInt32Shift);
  double multiplier = std::nearbyint(std::ldexp(scale, kPoint + shift));
  const double end = std::ldexp(1.0, kInt32MultiplierBits);
  if (multiplier >= end && shift > 0) multiplier = std::nearbyint(std::ldexp(scale, kPoint + --shift));
  return TensorInt32Channel{.multiplier = static_cast<std::uint64_t>(std::min(multiplier, end - 1)),
                            .shift = static_cast<std::uint8_t>(shift)};
}

}  // namespace tributary::fpga
