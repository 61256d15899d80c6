// Small stand-ins for trained modulation networks and for bursts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "core/nn/kernel/random_stream.h"
#include "core/nn/kernel/random_values_fixture.h"
#include "core/nn/modulation/modulation_network.h"

namespace tributary::nn {

inline std::vector<std::string> TenClasses() {
  std::vector<std::string> classes;
  for (int k = 0; k < 10; ++k) classes.push_back("class" + std::to_string(k));
  return classes;
}

inline ModulationNetwork RandomModulationNetwork(const ModulationArchitecture& architecture,
                                                 unsigned seed = 1) {
  ModulationNetwork network;
  network.name = "random";
  network.version = "3";
  network.training_set = "none";
  network.architecture = &architecture;
  network.classes = TenClasses();
  network.parameters = RandomValues(ParameterLayout(architecture.tensors()).size(), seed, 0.1f);
  network.temperature = 1.5f;
  network.activation_range.assign(architecture.layers.size() + 1, 4.0f);
  return network;
}

// Bursts of one tone each, of unit power, with a tenth of noise; the class is the tone's frequency.
inline void DrawTones(std::uint64_t seed, std::span<float> bursts, std::span<std::uint8_t> classes) {
  constexpr std::size_t kSamples = kModulationInput.length;
  RandomStream random(seed);
  for (std::size_t n = 0; n < classes.size(); ++n) {
    classes[n] = static_cast<std::uint8_t>(random.Below(kModulationClasses));
    const double step = 0.25 * (classes[n] - 4.5), phase = 2 * std::numbers::pi * random.Uniform();
    float* burst = bursts.data() + n * kModulationInput.size();
    for (std::size_t t = 0; t < kSamples; ++t) {
      const double angle = phase + step * static_cast<double>(t);
      burst[t] = static_cast<float>(std::cos(angle) + 0.1 * random.Normal());
      burst[kSamples + t] = static_cast<float>(std::sin(angle) + 0.1 * random.Normal());
    }
  }
}

}  // namespace tributary::nn
