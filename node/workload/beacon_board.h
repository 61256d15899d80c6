// A beacon network on its accelerator, as a serial line sees it: computes, takes weights, learns.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/serial/board.h"
#include "node/accelerator/beacon_accelerator.h"

namespace tributary::workload {

// Called by the thread that owns the accelerator, between two batches: the next tuple has the new weights and
// their uncertainty. Learning stops that thread for some milliseconds to a second.
class BeaconBoard final : public serial::Board {
 public:
  // `network` has the normalisation and the uncertainty; it is replaced in place. `accelerator` outlives the
  // last call. `weight_step`: of the accelerator's weights; 0: float.
  BeaconBoard(accelerator::BeaconAccelerator& accelerator, std::shared_ptr<nn::BeaconNetwork> network,
              double weight_step);

  // Errors: as the accelerator's.
  absl::Status SetLayer(std::size_t layer, std::span<const serial::Word> weights) override;
  absl::Status Compute(std::span<const serial::Inputs> inputs, std::span<serial::Outputs> outputs) override;
  // Errors: those of nn::RetrainBeacon and the accelerator.
  absl::StatusOr<serial::Retraining> Retrain(std::span<const serial::Sample> samples) override;

 private:
  accelerator::BeaconAccelerator& accelerator_;
  const std::shared_ptr<nn::BeaconNetwork> network_;
  const double weight_step_;
  std::vector<float> features_;
  std::vector<float> positions_;
};

}  // namespace tributary::workload
