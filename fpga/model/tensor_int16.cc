#include "fpga/model/tensor_int16.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "fpga/model/fixed_point.h"

namespace tributary::fpga {
namespace {

constexpr int kInt16MultiplierBits = 17;
constexpr int kMostInt16Shift = 63;

// t saturated to `bits`, at most 32.
std::int64_t ShiftedSum(std::int64_t sum, const TensorInt16Channel& channel, int bits) {
  const std::int64_t biased = sum + channel.bias;
  // One more guard bit than t, for the rounding.
  const int shift = channel.shift - (kTensorGuardBits + 1);
  // What is shifted to the left is saturated before: 40 bits without a shift are more than t has.
  const std::int64_t guarded = shift >= 0 ? biased >> shift : Saturate(biased, 40) << -shift;
  return Saturate(RoundShift(guarded, 1), bits);
}

}  // namespace

TensorInt16Output Int16Output(const TensorCommand& command) {
  const std::uint64_t word = EncodeTensorCommand(command)[6];
  return {.pad = static_cast<std::int16_t>(word),
          .zero = static_cast<std::int16_t>(word >> 16),
          .low = static_cast<std::int16_t>(word >> 32),
          .high = static_cast<std::int16_t>(word >> 48)};
}

void SetInt16Output(const TensorInt16Output& output, TensorCommand& command) {
  const auto bits = [](std::int16_t value) { return std::uint64_t{static_cast<std::uint16_t>(value)}; };
  auto words = EncodeTensorCommand(command);
  words[6] = bits(output.pad) | bits(output.zero) << 16 | bits(output.low) << 32 | bits(output.high) << 48;
  command = DecodeTensorCommand(words);
}

std::array<std::uint64_t, 2> EncodeInt16Channel(const TensorInt16Channel& channel) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kInt16BiasBits) - 1;
  return {static_cast<std::uint64_t>(channel.bias) & kMask,
          std::uint64_t{channel.multiplier} | std::uint64_t{channel.shift} << 32};
}

TensorInt16Channel DecodeInt16Channel(std::uint64_t bias, std::uint64_t scale) {
  constexpr int kAbove = 64 - kInt16BiasBits;
  return {.bias = static_cast<std::int64_t>(bias << kAbove) >> kAbove,
          .multiplier = static_cast<std::uint32_t>(scale & ((1 << kInt16MultiplierBits) - 1)),
          .shift = static_cast<std::uint8_t>(scale >> 32 & kMostInt16Shift)};
}

std::int16_t Int16OutputOf(std::int64_t sum, const TensorInt16Channel& channel,
                           const TensorInt16Output& output) {
  const std::int64_t scaled =
      RoundHalfToEven(ShiftedSum(sum, channel, kInt16SumBits) * channel.multiplier, kInt16ScaleShift);
  const std::int64_t placed = scaled + output.zero;
  return placed > output.high  ? output.high
         : placed < output.low ? output.low
                               : static_cast<std::int16_t>(placed);
}

std::int32_t Int32OutputOf(std::int64_t sum, const TensorInt16Channel& channel) {
  return static_cast<std::int32_t>(ShiftedSum(sum, channel, 32));
}

absl::StatusOr<TensorInt16Channel> Int16ChannelOf(double scale) {
  if (!(scale > 0.0 && scale < 2.0)) {  // NaN fails, too
    return absl::InvalidArgumentError(fmt::format("a scale of {} is not within (0, 2)", scale));
  }
  // scale = multiplier · 2^(guard - shift - scale_shift), with 17 bits of the multiplier in use where the
  // shift allows.
  constexpr int kPoint = kInt16ScaleShift - kTensorGuardBits;
  int shift = std::clamp(-std::ilogb(scale), 0, kMostInt16Shift);
  double multiplier = std::nearbyint(std::ldexp(scale, kPoint + shift));
  const double end = std::ldexp(1.0, kInt16MultiplierBits);
  if (multiplier >= end && shift > 0) multiplier = std::nearbyint(std::ldexp(scale, kPoint + --shift));
  return TensorInt16Channel{.multiplier = static_cast<std::uint32_t>(std::min(multiplier, end - 1)),
                            .shift = static_cast<std::uint8_t>(shift)};
}

}  // namespace tributary::fpga
