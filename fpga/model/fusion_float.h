// The floating-point format of the fusion block, bit for bit: sign, 12-bit exponent, 24-bit significand,
// truncation.
#pragma once

#include <cstdint>

namespace tributary::fpga {

// ±significand · 2^(exponent - 23). The significand's top bit is set, except for zero: significand 0 and the
// least exponent. The exponent covers every result of a fusion of single-precision tuples, so nothing
// overflows.
//
// Zero with the sign set is "void", the value of an absent panel: functions of it are zero, and zero
// information adds nothing.
struct FusionFloat {
  static constexpr int kSignificandBits = 24;
  static constexpr int kZeroExponent = -2048;

  bool negative = false;
  int exponent = kZeroExponent;
  std::uint32_t significand = 0;

  static constexpr FusionFloat Void() { return {.negative = true}; }
  constexpr bool zero() const { return significand == 0; }
  friend constexpr bool operator==(const FusionFloat&, const FusionFloat&) = default;
};

// ±magnitude · 2^scale, truncated to the 24 leading bits. Zero is positive.
FusionFloat Normalise(bool negative, std::uint64_t magnitude, int scale);

// Subnormal numbers become zero. The value must be finite.
FusionFloat ToFusionFloat(float value);

// Too small a value becomes zero, too large a one infinity.
float ToFloat(FusionFloat value);

// Truncated: the error is less than one unit in the last place, towards zero.
FusionFloat Multiply(FusionFloat a, FusionFloat b);

// The smaller operand is truncated three bits below the larger one's last place; the sum is truncated. The
// error is less than 1.25 units in the last place of the larger of result and (operand / 8).
FusionFloat Add(FusionFloat a, FusionFloat b);
inline FusionFloat Negate(FusionFloat a) { return {!a.negative, a.exponent, a.significand}; }

}  // namespace tributary::fpga
