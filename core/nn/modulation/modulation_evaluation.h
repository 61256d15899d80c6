// How good a modulation network is on bursts whose classes are known, and how sure it may be.
#pragma once

#include <cstdint>
#include <span>

#include "core/nn/modulation/modulation_network.h"

namespace tributary::nn {

struct ModulationScore {
  double nll = 0;       // mean of −ln p(class), with the network's temperature
  double accuracy = 0;  // part of the bursts whose class has the largest probability
};

// Bursts [n × 256] of unit power and their classes [n], n > 0.
ModulationScore ScoreModulation(const ModulationNetwork& network, std::span<const float> bursts,
                                std::span<const std::uint8_t> classes);

// The temperature that fits best to such bursts, which the network has not learned from.
float ModulationTemperature(const ModulationNetwork& network, std::span<const float> bursts,
                            std::span<const std::uint8_t> classes);

}  // namespace tributary::nn
