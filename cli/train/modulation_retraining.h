// Trains a modulation network further on a few bursts of another radio.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "core/nn/modulation/modulation_network.h"
#include "core/recordings/labelled_bursts.h"

namespace tributary::cli {

struct ModulationRetrainingOptions {
  std::size_t epochs = 60;    // at most
  std::size_t patience = 10;  // epochs without a better network, after which it ends
  std::size_t batch = 64;
  double learning_rate = 1e-3;
  std::uint64_t seed = 1;  // of the split, the order and the phases
};

// NLL and accuracy are those of the bursts held out.
struct ModulationRetrainingProgress {
  std::size_t epoch = 0;  // done; 0: the network as given
  double loss = 0;        // mean over the epoch
  double held_out_nll = 0;
  double held_out_accuracy = 0;
};

// Trains on four fifths of each class and keeps the parameters of the epoch with the least NLL on the rest:
// those of `network` itself if none was better. Every epoch turns the phase of each burst anew: no class
// depends on it. The rest also fits the temperature; all bursts widen the activation ranges. Provenance stays
// as it was. Errors: InvalidArgument for a class with fewer than five bursts.
absl::StatusOr<nn::ModulationNetwork> RetrainModulation(
    nn::ModulationNetwork network, const recordings::LabelledBursts& bursts,
    const ModulationRetrainingOptions& options,
    const std::function<void(const ModulationRetrainingProgress&)>& progress);

}  // namespace tributary::cli
