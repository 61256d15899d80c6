// The hyperbolic tangent sigmoid of [BEACON], exact and as the hardware's table.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>

namespace tributary::nn {

inline double Tansig(double x) { return std::tanh(x); }

// Slope at the x for which Tansig(x) = y.
inline double TansigSlope(double y) { return 1.0 - y * y; }

// 16,384 words ([BEACON], section 2.2.3), addressed by a 14-bit two's complement number of 11 fraction bits:
// −4 ≤ x < 4. Beyond that the nearest end is used, where tanh is within 0.7 of a word of ±1.
inline constexpr int kTansigAddressBits = 14;
inline constexpr int kTansigAddressFraction = 11;
inline constexpr int kTansigFraction = 10;  // of the words: Q1.10, −1023…1023
inline constexpr std::size_t kTansigWords = std::size_t{1} << kTansigAddressBits;

// Word at address − 8192 … 8191 (index 0 is the lowest address): tanh rounded to nearest, then saturated.
std::span<const std::int16_t, kTansigWords> TansigTable();

}  // namespace tributary::nn
