// A positioning network with random weights and fitting ranges, for tests and benchmarks without training.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "core/nn/positioning/positioning_inference.h"
#include "core/nn/positioning/positioning_network.h"

namespace tributary::fpga {

inline constexpr std::size_t kCalibrationSubjects = 8;

inline std::vector<float> Normal(std::mt19937_64& random, std::size_t count, float mean, float deviation) {
  std::normal_distribution<float> distribution(mean, deviation);
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return distribution(random); });
  return values;
}

// Raw features [subjects × 1024], normally distributed.
inline std::vector<float> RandomFeatures(std::uint64_t seed, std::size_t subjects) {
  std::mt19937_64 random(seed + 1);
  return Normal(random, subjects * nn::PositioningNetwork::kInputs, 0.0f, 1.0f);
}

// Equal seeds give equal networks; even ones align the phase by the plane wave. The activation ranges are
// those of RandomFeatures.
inline nn::PositioningNetwork RandomPositioningNetwork(std::uint64_t seed) {
  constexpr auto& kWidths = nn::PositioningNetwork::kWidths;
  std::mt19937_64 random(seed);
  nn::PositioningNetwork network;
  network.alignment = seed % 2 == 0 ? nn::PhaseAlignment::kPlaneWave : nn::PhaseAlignment::kFirstAntenna;
  network.input_mean = Normal(random, kWidths[0], 0.0f, 0.3f);
  network.input_inverse_deviation = Normal(random, kWidths[0], 1.2f, 0.1f);
  for (std::size_t layer = 0; layer < network.weights.size(); ++layer) {
    const float deviation = std::sqrt(2.0f / static_cast<float>(kWidths[layer]));
    network.weights[layer] = Normal(random, kWidths[layer] * kWidths[layer + 1], 0.0f, deviation);
  }
  network.batch_norm_scale = Normal(random, kWidths[1], 1.0f, 0.3f);
  network.batch_norm_shift = Normal(random, kWidths[1], -0.5f, 0.3f);
  network.name = "random";
  const std::vector<float> features = RandomFeatures(seed, kCalibrationSubjects);
  nn::PositioningInference inference(network, kCalibrationSubjects);
  std::vector<float> outputs(kCalibrationSubjects * kWidths.back());
  inference.Run(features, kCalibrationSubjects, outputs);
  const auto activations = inference.activations();
  for (std::size_t i = 0; i < activations.size(); ++i) {
    for (const float v : activations[i]) {
      network.activation_range[i] = std::max(network.activation_range[i], std::abs(v));
    }
  }
  return network;
}

}  // namespace tributary::fpga
