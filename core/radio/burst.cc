#include "core/radio/burst.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace tributary::radio {

std::string_view BurstFaultName(BurstFault fault) {
  constexpr std::array<std::string_view, kBurstFaults> kNames = {"not_finite", "zero", "clipped"};
  return kNames[static_cast<std::size_t>(fault)];
}

std::optional<BurstFault> NormaliseBurst(BurstView burst) {
  double energy = 0;
  float largest = 0;
  for (const float component : burst) {
    if (!std::isfinite(component)) return BurstFault::kNotFinite;
    energy += static_cast<double>(component) * component;
    largest = std::max(largest, std::abs(component));
  }
  const double gain = std::sqrt(kBurstSamples / energy);
  // A gain beyond float's range would make the samples infinite.
  if (energy == 0 || !std::isfinite(static_cast<float>(gain))) return BurstFault::kZero;
  const auto at_rail = static_cast<std::size_t>(
      std::ranges::count_if(burst, [&](float component) { return std::abs(component) == largest; }));
  if (at_rail > kMostAtRail) return BurstFault::kClipped;
  for (float& component : burst) component = static_cast<float>(component * gain);
  return std::nullopt;
}

void TurnPhase(double angle, BurstView burst) {
  const auto c = static_cast<float>(std::cos(angle)), s = static_cast<float>(std::sin(angle));
  for (std::size_t t = 0; t < kBurstSamples; ++t) {
    float& i = burst[t];
    float& q = burst[kBurstSamples + t];
    std::tie(i, q) = std::pair(c * i - s * q, s * i + c * q);
  }
}

}  // namespace tributary::radio
