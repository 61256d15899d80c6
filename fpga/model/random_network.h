// A positioning network with random weights and fitting ranges, for tests and benchmarks without training.
#pragma once

#include <cstdint>
#include <vector>

#include "core/nn/positioning/positioning_network.h"

namespace tributary::fpga {

// Equal seeds give equal networks. The activation ranges are those of RandomFeatures.
nn::PositioningNetwork RandomPositioningNetwork(std::uint64_t seed);

// Raw features [subjects × 1024], normally distributed.
std::vector<float> RandomFeatures(std::uint64_t seed, std::size_t subjects);

}  // namespace tributary::fpga
