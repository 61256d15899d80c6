#include "fpga/model/fusion_arithmetic.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

namespace tributary::fpga {
namespace {

constexpr int kGuardBits = 3;
constexpr int kFraction = FusionFloat::kSignificandBits - 1;

// Added to the diagonal after the softplus ([LIS], equation 5.5).
constexpr double kFloor = 1e-5;

constexpr int kOffsetBits = 17;
constexpr int kResultFraction = 32;
constexpr int kSlopeFraction = 28;
constexpr int kSoftplusFraction = 21;  // 1/16 per segment, and the offset's 17 bits

// Through the three Chebyshev points of the segment.
template <class F>
FunctionSegment Interpolate(const F& f, double start, double width) {
  const double reach = std::numbers::sqrt3 / 4;  // of the outer points from the middle, in segments
  const double low = f(start + (0.5 - reach) * width);
  const double middle = f(start + 0.5 * width);
  const double high = f(start + (0.5 + reach) * width);
  const double c2 = (high - 2 * middle + low) / (2 * reach * reach);
  const double slope = (high - low) / (2 * reach);  // in the middle
  const double c1 = slope - c2;
  const double c0 = middle - 0.5 * c1 - 0.25 * c2;
  return {std::llround(std::ldexp(c0, kResultFraction)), std::llround(std::ldexp(c1, kSlopeFraction)),
          std::llround(std::ldexp(c2, kSlopeFraction))};
}

FunctionTable MakeTable() {
  const auto softplus_tail = [](double z) { return std::log1p(std::exp(-z)) + kFloor; };
  const auto reciprocal = [](double m) { return 1 / m; };
  const auto reciprocal_root = [](double m) { return 1 / std::sqrt(m); };
  FunctionTable table;
  for (int i = 0; i < 512; ++i) table[i] = Interpolate(softplus_tail, i / 16.0, 1 / 16.0);
  for (int i = 0; i < 256; ++i) table[512 + i] = Interpolate(reciprocal, 1 + i / 256.0, 1 / 256.0);
  for (int i = 0; i < 128; ++i) {
    table[768 + i] = Interpolate(reciprocal_root, 1 + i / 128.0, 1 / 128.0);
    table[896 + i] = Interpolate(reciprocal_root, 2 + i / 64.0, 1 / 64.0);
  }
  return table;
}

// In units of 2^-32.
std::uint64_t Evaluate(int segment, std::int64_t offset) {
  const FunctionSegment& s = FusionFunctionTable()[segment];
  const std::int64_t slope = ((s.c1 << kOffsetBits) + s.c2 * offset) >> kOffsetBits;
  constexpr int kShift = kSlopeFraction + kOffsetBits - kResultFraction;
  return static_cast<std::uint64_t>(((s.c0 << kShift) + slope * offset) >> kShift);
}

FusionFloat Softplus(FusionFloat x) {
  if (x == FusionFloat::Void()) return {};
  const bool beyond = x.exponent > 4;  // |x| ≥ 32: the tail is below the last place
  if (beyond && !x.negative) return x;
  const std::uint32_t scaled = x.significand << 2;
  const int shift = 4 - x.exponent;
  const std::uint32_t z = beyond ? (1u << (kSoftplusFraction + 5)) - 1 : shift < 32 ? scaled >> shift : 0;
  const std::uint64_t tail = Evaluate(static_cast<int>(z >> kOffsetBits), z & ((1 << kOffsetBits) - 1));
  const std::uint64_t line = static_cast<std::uint64_t>(z) << (kResultFraction - kSoftplusFraction);
  return Normalise(false, x.negative ? tail : line + tail, -kResultFraction);
}

}  // namespace

FusionFloat Normalise(bool negative, std::uint64_t magnitude, int scale) {
  if (magnitude == 0) return {};
  const int excess = std::bit_width(magnitude) - FusionFloat::kSignificandBits;
  const std::uint64_t significand = excess >= 0 ? magnitude >> excess : magnitude << -excess;
  return {negative, scale + excess + kFraction, static_cast<std::uint32_t>(significand)};
}

FusionFloat ToFusionFloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const int exponent = static_cast<int>(bits >> 23 & 0xff);
  if (exponent == 0) return {};
  return {bits >> 31 != 0, exponent - 127, 0x800000u | (bits & 0x7fffffu)};
}

float ToFloat(FusionFloat value) {
  const std::uint32_t sign = value.negative ? 0x80000000u : 0u;
  if (value.exponent < -126) return std::bit_cast<float>(sign);
  if (value.exponent > 127) return std::bit_cast<float>(sign | 0x7f800000u);
  return std::bit_cast<float>(sign | static_cast<std::uint32_t>(value.exponent + 127) << 23 |
                              (value.significand & 0x7fffffu));
}

FusionFloat Multiply(FusionFloat a, FusionFloat b) {
  const std::uint64_t product = static_cast<std::uint64_t>(a.significand) * b.significand;
  return Normalise(a.negative != b.negative, product, a.exponent + b.exponent - 2 * kFraction);
}

FusionFloat Add(FusionFloat a, FusionFloat b) {
  if (std::pair(a.exponent, a.significand) < std::pair(b.exponent, b.significand)) std::swap(a, b);
  const int distance = a.exponent - b.exponent;
  const std::uint64_t larger = static_cast<std::uint64_t>(a.significand) << kGuardBits;
  const std::uint64_t smaller =
      distance < 32 ? (static_cast<std::uint64_t>(b.significand) << kGuardBits) >> distance : 0;
  return Normalise(a.negative, a.negative == b.negative ? larger + smaller : larger - smaller,
                   a.exponent - kFraction - kGuardBits);
}

const FunctionTable& FusionFunctionTable() {
  static const FunctionTable table = MakeTable();
  return table;
}

FusionFloat Apply(FusionFunction function, FusionFloat x) {
  if (function == FusionFunction::kSoftplus) return Softplus(x);
  if (x.zero()) return {};
  const auto fraction = static_cast<std::int64_t>(x.significand & 0x7fffff);
  if (function == FusionFunction::kReciprocal) {
    const std::uint64_t y = Evaluate(512 + static_cast<int>(fraction >> 15), (fraction & 0x7fff) << 2);
    return Normalise(x.negative, y, -x.exponent - kResultFraction);
  }
  const int odd = x.exponent & 1;
  const std::uint64_t y =
      Evaluate(768 + 128 * odd + static_cast<int>(fraction >> 16), (fraction & 0xffff) << 1);
  return Normalise(false, y, -((x.exponent - odd) / 2) - kResultFraction);
}

}  // namespace tributary::fpga
