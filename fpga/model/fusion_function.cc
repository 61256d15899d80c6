#include "fpga/model/fusion_function.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tributary::fpga {
namespace {

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
