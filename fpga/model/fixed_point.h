// The arithmetic that hardware does between layers: rounding shift, saturation, power-of-two scales.
#pragma once

#include <cmath>
#include <cstdint>

namespace tributary::fpga {

constexpr std::int64_t MaxWord(int bits) { return (std::int64_t{1} << (bits - 1)) - 1; }
constexpr std::int64_t MinWord(int bits) { return -(std::int64_t{1} << (bits - 1)); }

// value · 2^-shift, halves rounded up (towards plus infinity): half an ulp preset into the accumulator, then
// wires. shift is at least 1 and value + 2^(shift-1) must not overflow.
constexpr std::int64_t RoundShift(std::int64_t value, int shift) {
  return (value + (std::int64_t{1} << (shift - 1))) >> shift;
}

// The same with halves to even.
constexpr std::int64_t RoundHalfToEven(std::int64_t value, int shift) {
  const std::int64_t half = std::int64_t{1} << (shift - 1);
  const std::int64_t rounded = (value + half) >> shift;
  const bool tie = ((value + half) & (2 * half - 1)) == 0;
  return tie ? rounded & ~std::int64_t{1} : rounded;
}

constexpr std::int64_t Saturate(std::int64_t value, int bits) {
  return value > MaxWord(bits) ? MaxWord(bits) : value < MinWord(bits) ? MinWord(bits) : value;
}

inline constexpr int kMaxFraction = 30;
inline constexpr int kMinFraction = -30;

// The largest number of fraction bits with which ±range still fits a signed word: range · 2^fraction ≤
// 2^(bits-1) - 1.
inline int FractionBits(double range, int bits) {
  int fraction = kMaxFraction;
  while (fraction > kMinFraction && std::ldexp(range, fraction) > static_cast<double>(MaxWord(bits)))
    --fraction;
  return fraction;
}

// Nearest word to value · 2^fraction (ties to even), saturated symmetrically: ±(2^(bits-1) - 1).
inline std::int64_t QuantiseWeight(double value, int fraction, int bits) {
  const double word = std::nearbyint(std::ldexp(value, fraction));
  const double limit = static_cast<double>(MaxWord(bits));
  return static_cast<std::int64_t>(word > limit ? limit : word < -limit ? -limit : word);
}

}  // namespace tributary::fpga
