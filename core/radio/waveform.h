// A piece of a complex baseband signal, long enough for a burst and the memory of a channel.
#pragma once

#include <array>
#include <cstddef>

#include "core/radio/burst.h"

namespace tributary::radio {

// Samples before a burst that a channel and its resampler look back on, and after it.
inline constexpr std::size_t kLeadSamples = 28;
inline constexpr std::size_t kTailSamples = 12;

template <std::size_t kSize>
struct Signal {
  static constexpr std::size_t size() { return kSize; }

  std::array<float, kSize> i;  // in phase
  std::array<float, kSize> q;  // quadrature
};

// Sample n is the transmitter's at n − kLeadSamples samples from the start of the burst.
using Waveform = Signal<kLeadSamples + kBurstSamples + kTailSamples>;

}  // namespace tributary::radio
