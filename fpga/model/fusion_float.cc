#include "fpga/model/fusion_float.h"

#include <bit>
#include <limits>
#include <utility>

namespace tributary::fpga {
namespace {

constexpr int kGuardBits = 3;
constexpr int kFraction = FusionFloat::kSignificandBits - 1;

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

}  // namespace tributary::fpga
