// A burst: the samples that one classification takes. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tributary::radio {

inline constexpr std::size_t kBurstSamples = 128;
inline constexpr std::size_t kBurstFeatures = 2 * kBurstSamples;

// 128 in-phase components, then 128 quadrature components.
using BurstView = std::span<float, kBurstFeatures>;

// Why a burst cannot be classified.
enum class BurstFault : std::uint8_t {
  kNotFinite,  // a component is infinite or not a number
  kZero,       // no power, or too little to be scaled
  kClipped,    // more than kMostAtRail of its components have the largest magnitude of all
};
inline constexpr std::size_t kBurstFaults = 3;

// A converter in saturation repeats its largest word. Noise and a carrier offset spread the components of any
// modulation, so that unclipped bursts repeat it rarely.
inline constexpr std::size_t kMostAtRail = kBurstFeatures / 4;

// "not_finite", "zero", "clipped": the label of a metric.
std::string_view BurstFaultName(BurstFault fault);

// Scales the burst to a mean power |I + jQ|² of one. A burst with a fault stays as it is.
std::optional<BurstFault> NormaliseBurst(BurstView burst);

// Multiplies the samples by e^(j·angle), angle in radians: another phase of the same transmission.
void TurnPhase(double angle, BurstView burst);

}  // namespace tributary::radio
