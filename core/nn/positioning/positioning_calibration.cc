#include "core/nn/positioning/positioning_calibration.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/nn/optimise/gaussian_nll.h"
#include "core/nn/positioning/positioning_inference.h"

namespace tributary::nn {

double DeviationFactor(std::span<const double> squared, double prior) {
  constexpr double kMost = 13.8;
  double scale = 1;
  for (int iteration = 0; iteration < 50; ++iteration) {
    double sum = 2 * prior;
    for (const double s : squared) sum += scale * std::min(s / scale, kMost);
    scale = sum / (2 * (prior + static_cast<double>(squared.size())));
  }
  return std::sqrt(scale);
}

std::array<float, 6> RangesOf(const PositioningNetwork& network, std::span<const float> features) {
  constexpr std::size_t kRangeBatch = 64;
  // Finer steps for all are worth more than 1 value in 10,000 that saturates.
  constexpr double kQuantile = 0.9999;
  PositioningInference inference(network, kRangeBatch);
  std::vector<float> outputs(kRangeBatch * kGaussianOutputs), inputs;
  std::array<float, 6> ranges = {};
  const std::size_t count = features.size() / PositioningNetwork::kInputs;
  for (std::size_t first = 0; first < count; first += kRangeBatch) {
    inference.Run(features.subspan(first * PositioningNetwork::kInputs), std::min(kRangeBatch, count - first),
                  outputs);
    const auto activations = inference.activations();
    for (const float v : activations[0]) inputs.push_back(std::abs(v));
    for (std::size_t i = 1; i < activations.size(); ++i) {
      for (const float v : activations[i]) ranges[i] = std::max(ranges[i], std::abs(v));
    }
  }
  const auto quantile =
      inputs.begin() + static_cast<std::ptrdiff_t>(kQuantile * static_cast<double>(inputs.size() - 1));
  std::ranges::nth_element(inputs, quantile);
  ranges[0] = *quantile;
  return ranges;
}

}  // namespace tributary::nn
