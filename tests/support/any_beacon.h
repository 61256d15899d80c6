// A beacon network with weights from a seed, which a model's file and a panel accept.
#pragma once

#include <random>

#include "core/nn/beacon/beacon_network.h"

namespace tributary::testing {

inline nn::BeaconNetwork AnyBeacon() {
  constexpr std::size_t kSize = nn::BeaconNetwork::kParameters;
  nn::BeaconNetwork network;
  network.name = "any";
  network.version = "1";
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (double& each : network.parameters) each = uniform(random);
  network.input_gain_per_m = {0.2, 0.2, 0.2};
  network.input_offset_m = {5, 5, 5};
  network.output_scale_m = 5;
  network.residual_deviation_m = 0.1;
  network.parameter_factor.assign(kSize * kSize, 0);
  for (std::size_t i = 0; i < kSize; ++i) network.parameter_factor[i * (kSize + 1)] = 0.1;
  network.anchors = {0, 1, 2};
  return network;
}

}  // namespace tributary::testing
