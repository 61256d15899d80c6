// Trains and calibrates a network for modulation recognition on bursts that are drawn anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "core/nn/modulation/modulation_network.h"
#include "core/radio/burst_generator.h"

namespace tributary::cli {

struct ModulationTrainingOptions {
  const nn::ModulationArchitecture* architecture = nn::FindModulationArchitecture("deep");
  std::uint64_t seed = 1;
  std::uint64_t bursts = 2'000'000;  // none is used twice
  std::size_t batch = 128;
  double peak_learning_rate = 16e-3;
  std::optional<radio::SnrDefinition> snr;  // empty: one half of each
  radio::BurstOptions domain = radio::ReferenceDomain();
  // Goes on with this network, of the same architecture, instead of random weights.
  std::optional<nn::ModulationNetwork> from = std::nullopt;
};

struct ModulationTrainingProgress {
  std::uint64_t bursts = 0;      // done
  double loss = 0;               // mean since the last progress
  double held_out_accuracy = 0;  // over all ratios
  double elapsed_s = 0;
  double remaining_s = 0;
};

// Training, temperature and activation ranges, each on bursts of their own. The caller names the network.
absl::StatusOr<nn::ModulationNetwork> TrainModulation(
    const ModulationTrainingOptions& options,
    const std::function<void(const ModulationTrainingProgress&)>& progress);

}  // namespace tributary::cli
