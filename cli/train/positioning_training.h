// Trains and calibrates a positioning network on the simulated room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/nn/positioning/positioning_network.h"

namespace tributary::cli {

struct PositioningTrainingOptions {
  std::uint64_t seed = 1;
  std::uint64_t samples = 200'000;  // per epoch; every epoch draws new ones
  std::uint64_t epochs = 40;
  std::size_t batch = 256;
  double peak_learning_rate = 2e-3;
  int threads = 2;  // the second draws the users
};

struct PositioningTrainingProgress {
  std::uint64_t epoch = 0;  // done
  std::uint64_t epochs = 0;
  double loss = 0;               // mean of the epoch, per sample
  double held_out_error_cm = 0;  // mean of one panel
  double elapsed_s = 0;
  double remaining_s = 0;
};

// Standardisation, training, activation ranges and covariance scale, each on users of their own. The caller
// names it.
nn::PositioningNetwork TrainPositioning(
    const PositioningTrainingOptions& options,
    const std::function<void(const PositioningTrainingProgress&)>& progress);

}  // namespace tributary::cli
