// A positioning network with random weights whose ranges fit, for tests and benchmarks that need no training.
#pragma once

#include <cstdint>
#include <vector>

#include "core/nn/positioning/positioning_network.h"

namespace tributary::fpga {

// The same network for the same seed. Its activation ranges are those of RandomFeatures.
nn::PositioningNetwork RandomPositioningNetwork(std::uint64_t seed);

// Raw features [subjects × 1024], normally distributed.
std::vector<float> RandomFeatures(std::uint64_t seed, std::size_t subjects);

}  // namespace tributary::fpga
