#include "core/nn/kernel/tansig.h"

#include <algorithm>

namespace tributary::nn {
namespace {

std::array<std::int16_t, kTansigWords> MakeTable() {
  constexpr double kLargest = (1 << kTansigFraction) - 1;
  std::array<std::int16_t, kTansigWords> table;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double address = static_cast<double>(i) - static_cast<double>(kTansigWords / 2);
    const double word = std::ldexp(Tansig(std::ldexp(address, -kTansigAddressFraction)), kTansigFraction);
    table[i] = static_cast<std::int16_t>(std::clamp(std::nearbyint(word), -kLargest, kLargest));
  }
  return table;
}

}  // namespace

std::span<const std::int16_t, kTansigWords> TansigTable() {
  static const std::array<std::int16_t, kTansigWords> table = MakeTable();
  return table;
}

}  // namespace tributary::nn
