#include "core/nn/modulation/modulation_evaluation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "core/nn/modulation/modulation_inference.h"
#include "core/nn/optimise/cross_entropy.h"

namespace tributary::nn {
namespace {

std::vector<float> LogitsOfBursts(const ModulationNetwork& network, std::span<const float> bursts,
                                  std::size_t count) {
  std::vector<float> logits(count * kModulationClasses);
  ModulationInference(network).Run(bursts, count, logits);
  return logits;
}

}  // namespace

ModulationScore ScoreModulation(const ModulationNetwork& network, std::span<const float> bursts,
                                std::span<const std::uint8_t> classes) {
  const std::vector<float> logits = LogitsOfBursts(network, bursts, classes.size());
  const double share = 1.0 / static_cast<double>(classes.size());
  ModulationScore score;
  std::array<float, kModulationClasses> belief;
  for (std::size_t n = 0; n < classes.size(); ++n) {
    LogSoftmax(std::span(logits).subspan(n * kModulationClasses, kModulationClasses), network.temperature,
               belief);
    score.nll -= share * belief[classes[n]];
    const auto decided = static_cast<std::size_t>(std::ranges::max_element(belief) - belief.begin());
    if (decided == classes[n]) score.accuracy += share;
  }
  return score;
}

float ModulationTemperature(const ModulationNetwork& network, std::span<const float> bursts,
                            std::span<const std::uint8_t> classes) {
  return static_cast<float>(FitTemperature(LogitsOfBursts(network, bursts, classes.size()), classes));
}

}  // namespace tributary::nn
