// Training a beacon network further on the board, with samples of the place where it is used ([BEACON],
// section 5.2).
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"

namespace tributary::nn {

// Normalised: within ±1 as the network has them.
struct BeaconPattern {
  BeaconInputs inputs = {};
  BeaconOutputs targets = {};
};

struct BeaconRetrainingOptions {
  double weight_step = 0;  // the board's weights are multiples of it, below 128; 0: any
  int max_epochs = 200;
};

// Root mean square errors per coordinate on the samples that were held out, in parts of the outputs' range.
struct BeaconRetraining {
  BeaconNetwork network;  // the new one, or the old one if that is no worse
  int epochs = 0;
  double error_before = 0;
  double error_after = 0;  // of `network`
  bool taken = false;
};

// The fewest samples: as many as there are weights.
inline constexpr std::size_t kLeastPatterns = BeaconNetwork::kParameters;

// Levenberg-Marquardt from the network's weights. Every fifth block of samples is held out and judges both
// networks; samples stand in the order in which they were taken. A new network has its own uncertainty and
// reach. Errors: InvalidArgument for fewer than kLeastPatterns, a value that is not finite, or samples that
// are all alike.
absl::StatusOr<BeaconRetraining> RetrainBeacon(const BeaconNetwork& network,
                                               std::span<const BeaconPattern> patterns,
                                               const BeaconRetrainingOptions& options);

}  // namespace tributary::nn
