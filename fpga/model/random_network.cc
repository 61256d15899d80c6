#include "fpga/model/random_network.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

#include "fpga/model/positioning_input.h"

namespace tributary::fpga {
namespace {

constexpr std::size_t kCalibrationSubjects = 8;

std::vector<float> Normal(std::mt19937_64& random, std::size_t count, float mean, float deviation) {
  std::normal_distribution<float> distribution(mean, deviation);
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return distribution(random); });
  return values;
}

void Widen(float& range, std::span<const float> values) {
  for (const float v : values) range = std::max(range, std::abs(v));
}

// Runs one subject and widens the ranges to what it meets.
void Calibrate(nn::PositioningNetwork& network, std::span<const float> features) {
  std::vector<float> values(nn::PositioningNetwork::kInputs);
  StandardiseFeatures(MakePositioningInput(network, 0, 0), features, values);
  Widen(network.activation_range[0], values);
  std::size_t stage = 1;
  for (std::size_t layer = 0; layer < network.weights.size(); ++layer) {
    std::vector<float> results(nn::PositioningNetwork::kWidths[layer + 1], 0.0f);
    for (std::size_t row = 0; row < results.size(); ++row) {
      const float* weights = network.weights[layer].data() + row * values.size();
      for (std::size_t i = 0; i < values.size(); ++i) results[row] += weights[i] * values[i];
      if (layer < 3) results[row] = std::max(results[row], 0.0f);
    }
    Widen(network.activation_range[stage++], results);
    if (layer == 0) {
      for (std::size_t i = 0; i < results.size(); ++i) {
        results[i] = results[i] * network.batch_norm_scale[i] + network.batch_norm_shift[i];
      }
      Widen(network.activation_range[stage++], results);
    }
    values = std::move(results);
  }
}

}  // namespace

nn::PositioningNetwork RandomPositioningNetwork(std::uint64_t seed) {
  constexpr auto& kWidths = nn::PositioningNetwork::kWidths;
  std::mt19937_64 random(seed);
  nn::PositioningNetwork network;
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
  for (std::size_t i = 0; i < kCalibrationSubjects; ++i) {
    Calibrate(network, std::span(features).subspan(i * kWidths[0], kWidths[0]));
  }
  return network;
}

std::vector<float> RandomFeatures(std::uint64_t seed, std::size_t subjects) {
  std::mt19937_64 random(seed + 1);
  return Normal(random, subjects * nn::PositioningNetwork::kInputs, 0.0f, 1.0f);
}

}  // namespace tributary::fpga
