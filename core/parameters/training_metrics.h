// What a node says about its training besides the update.
#pragma once

#include <cstdint>

namespace tributary::parameters {

// For the history, never for the aggregation.
struct TrainingMetrics {
  double loss = 0;     // mean over the local steps
  double spread = 0;   // of the last step: near 1 if healthy, 0 if collapsed
  double seconds = 0;  // of training
  std::uint64_t steps = 0;
};

}  // namespace tributary::parameters
