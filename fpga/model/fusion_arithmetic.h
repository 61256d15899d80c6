// The arithmetic of the fusion block, bit for bit: its floating-point format (sign, 12-bit exponent, 24-bit
// significand, truncation) and the functions 1/x, 1/√x and softplus(x) + 1e-5, by a quadratic polynomial per
// table segment.
#pragma once

#include <array>
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

enum class FusionFunction { kReciprocal, kReciprocalRoot, kSoftplus };

// c0 + d·(c1 + d·c2) on one segment, d from 0 to 1 in steps of 2^-17. Units: c0 2^-32 (33 bits, unsigned), c1
// 2^-28 (25 bits, signed), c2 2^-28 (19 bits, signed): each product fits one DSP of either family.
struct FunctionSegment {
  std::int64_t c0 = 0;
  std::int64_t c1 = 0;
  std::int64_t c2 = 0;
};

// Segments 0–511: ln(1 + e^-z) + 1e-5 for z from 0 to 32 in steps of 1/16. 512–767: 1/m for m from 1 to 2 in
// steps of 1/256. 768–895: 1/√m for m from 1 to 2 in steps of 1/128, 896–1023 for m from 2 to 4 in steps of
// 1/64. Interpolation errs by h³/192 · max |f'''|: 1.3e-6 relative at most for the softplus, 2e-9 for 1/m,
// 5e-9 for 1/√m. Where the softplus comes down to its floor the slope's resolution dominates: 2^-29 of 1e-5,
// times three coefficients.
using FunctionTable = std::array<FunctionSegment, 1024>;
const FunctionTable& FusionFunctionTable();

// Zero gives zero for the first two functions (an absent value carries no information), void gives zero for
// softplus. The reciprocal root ignores the sign. Relative error against the real function: 2^-22; softplus
// 2e-6 where it is above √1e-5, 6e-4 at its floor.
FusionFloat Apply(FusionFunction function, FusionFloat x);

}  // namespace tributary::fpga
