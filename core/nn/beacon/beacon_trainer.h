// From recorded ranges with known positions to a calibrated beacon network. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"

namespace tributary::nn {

// Inputs and outputs stay within ±1 / 1.1 over the training set: the board's words end at ±1.
inline constexpr double kBeaconMargin = 1.1;

struct BeaconExample {
  std::int64_t unix_ns;
  BeaconInputs ranges_m;
  BeaconOutputs position_m;
};

// Normalised.
struct BeaconPatterns {
  std::vector<BeaconInputs> inputs;
  std::vector<BeaconOutputs> targets;
};
void AddPattern(const BeaconNetwork& network, const BeaconExample& example, BeaconPatterns& patterns);

struct BeaconTrainingProgress {
  int run;  // from 1
  int runs;
  int epochs;             // that this run took
  double held_out_rms_m;  // of this run, per coordinate
  double best_held_out_rms_m;
};

struct BeaconTrainingOptions {
  std::uint64_t seed = 1;
  int runs = 8;  // from different random weights; the best on held-out data is kept
  int max_epochs = 200;
  // Holds out whole blocks of time, since neighbouring samples are nearly the same: every fifth one.
  std::int64_t block_ns = 2'000'000'000;
  std::function<void(const BeaconTrainingProgress&)> progress;
};

// Weights of unit order over inputs of unit order: neurons start in their bends, none saturated.
std::array<double, BeaconNetwork::kParameters> RandomBeaconStart(std::mt19937_64& random);

// Trains by Levenberg-Marquardt on the blocks that are not held out. s makes the mean normalised squared
// error over the calibration folds 2. The caller fills in anchors, tag and provenance. Examples ascend in
// time. Errors: InvalidArgument for fewer examples than parameters on a side or values that are not finite.
absl::StatusOr<BeaconNetwork> TrainBeacon(std::span<const BeaconExample> examples,
                                          const BeaconTrainingOptions& options);

// For a network that was trained elsewhere, as in a federated run: how sure it is, and how far it reaches,
// from examples that nobody trained on; from others it is too sure. s as TrainBeacon has it, over all
// examples. Errors: InvalidArgument for fewer examples than parameters or values that are not finite.
absl::Status CalibrateBeacon(std::span<const BeaconExample> examples, BeaconNetwork& network);

}  // namespace tributary::nn
