// What a beacon board can do, whoever asks for it.
#pragma once

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/serial/command.h"

namespace tributary::serial {

// Root mean square errors per coordinate on samples that were kept from the training, in parts of the
// outputs' range.
struct Retraining {
  int epochs = 0;
  double error_before = 0;
  double error_after = 0;  // of the weights in force now
  bool taken = false;      // false: the new weights were no better, the old ones stay
};

// One thread calls.
class Board {
 public:
  virtual ~Board() = default;

  // `weights`: as many as the layer has.
  virtual absl::Status SetLayer(std::size_t layer, std::span<const Word> weights) = 0;
  virtual absl::Status Compute(std::span<const Inputs> inputs, std::span<Outputs> outputs) = 0;
  // Errors: InvalidArgument for samples that no network can be trained on.
  virtual absl::StatusOr<Retraining> Retrain(std::span<const Sample> samples) = 0;
};

}  // namespace tributary::serial
