// Training a beacon network further on the board, with samples of the place where it is used ([BEACON],
// section 5.2).
#pragma once

#include <cstddef>
#include <functional>
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
  // What was learned before the samples, with the same normalisation: its weights and their uncertainty pull
  // as so many samples would, and it is believed where no sample has been. Null: nothing does.
  const BeaconNetwork* prior = nullptr;
  double prior_samples = 64;
  // Parts of the samples, each estimated by a network that is trained on the others: the deviation of the new
  // network makes the mean normalised squared error of all of them 2. Below 2: the deviation is the error of
  // the samples that were held out.
  std::size_t calibration_folds = 0;
  // Asked before each epoch; true ends the training with Cancelled. Empty: never.
  std::function<bool()> withdrawn = {};
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
// are all alike; Cancelled.
absl::StatusOr<BeaconRetraining> RetrainBeacon(const BeaconNetwork& network,
                                               std::span<const BeaconPattern> patterns,
                                               const BeaconRetrainingOptions& options);

}  // namespace tributary::nn
