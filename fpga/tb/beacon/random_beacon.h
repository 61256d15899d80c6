// Random weights and inputs that exercise every range of the beacon network's arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "fpga/model/beacon_image.h"

namespace tributary::fpga {

// Weights whose sums stay within the table, leave it, or reach the ends of every word.
enum class BeaconRange { kTrained, kWide, kExtreme };

inline BeaconModel RandomBeacon(std::mt19937& random, BeaconRange range) {
  nn::BeaconNetwork network;
  for (double& parameter : network.parameters) {
    const double unit = static_cast<double>(random() % 65'537) / 32'768.0 - 1.0;
    switch (range) {
      case BeaconRange::kTrained:
        parameter = 1.5 * unit;
        break;
      case BeaconRange::kWide:
        parameter = 12.0 * unit;
        break;
      case BeaconRange::kExtreme:
        parameter = random() % 4 == 0 ? 128.0 * unit : unit < 0 ? -128.0 : 128.0;
        break;
    }
  }
  return BeaconModel(network);
}

// -1024 … 1023, the ends more often than by chance.
inline BeaconModel::Inputs RandomBeaconInputs(std::mt19937& random) {
  BeaconModel::Inputs inputs;
  for (std::int32_t& input : inputs) {
    const auto draw = static_cast<std::int32_t>(random() % 2'560) - 1'280;
    input = std::clamp(draw, -1'024, 1'023);
  }
  return inputs;
}

}  // namespace tributary::fpga
