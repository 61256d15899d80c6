// The beacon network, whose weights can be replaced while it is in use.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"
#include "node/accelerator/accelerator.h"

namespace tributary::accelerator {

// Features: three ranges in m; outputs: x and y in m, in the site's frame. NaN for a subject whose ranges are
// not finite. The weights belong to the thread that owns the accelerator, as Infer does: call weights() and
// SetWeights() from it, between two batches.
class BeaconAccelerator : public Accelerator {
 public:
  using Weights = std::array<double, nn::BeaconNetwork::kParameters>;  // in the board's order

  explicit BeaconAccelerator(std::size_t max_batch)
      : Accelerator({.inputs = nn::BeaconNetwork::kInputs,
                     .outputs = nn::BeaconNetwork::kOutputs,
                     .max_batch = max_batch}) {}
  // That of another one's shape.
  explicit BeaconAccelerator(const Shape& shape) : BeaconAccelerator(shape.max_batch) {}

  // The weights in force; from a board they are read back. In int16 they are multiples of 1/256. Errors:
  // those of Infer.
  virtual absl::StatusOr<Weights> weights() = 0;

  // Replaces all weights; the next batch uses them. In int16 they are rounded to 1/256 and saturated to
  // ±127.996. On a board this takes a run of 16 words for each compute unit. Errors: InvalidArgument for a
  // weight that is not finite: the old ones stay. Those of Infer: the board is opened again with the new
  // weights, so that no batch is ever computed with the old ones.
  absl::Status SetWeights(const Weights& weights) {
    if (std::ranges::all_of(weights, [](double weight) { return std::isfinite(weight); })) {
      return ReplaceWeights(weights);
    }
    return absl::InvalidArgumentError("a weight of the beacon network is not finite");
  }

 private:
  // SetWeights, once all are finite.
  virtual absl::Status ReplaceWeights(const Weights& weights) = 0;
};

}  // namespace tributary::accelerator
