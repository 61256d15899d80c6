// Turns ranges into positions in the site's frame.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"
#include "node/accelerator/accelerator.h"
#include "node/workload/workload.h"

namespace tributary::workload {

// The covariance is s²·I + s²·J(JᵀJ)⁻¹Jᵀ: the noise found on held-out data, and the uncertainty that the
// training set left in the parameters at these ranges. Owned and called by one panel thread.
class BeaconWorkload final : public Workload {
 public:
  // Errors: InvalidArgument for an accelerator of another shape.
  static absl::StatusOr<std::unique_ptr<BeaconWorkload>> Create(
      std::unique_ptr<accelerator::Accelerator> accelerator, const nn::BeaconNetwork& network);

  std::uint32_t dimension() const override { return 2; }

  // Adds to the accelerator's errors: InvalidArgument if the number of ranges does not fit the subjects.
  // Tuples are empty after an error.
  absl::Status Run(const source::SensorFrame& samples, estimate::TupleFrame& tuples) override;

  std::uint64_t unusable_tuples() const override { return unusable_tuples_; }

 private:
  BeaconWorkload(std::unique_ptr<accelerator::Accelerator> accelerator, const nn::BeaconNetwork& network);
  void Append(std::uint32_t subject, const float* ranges_m, const float* position_m,
              estimate::TupleFrame& tuples);

  std::unique_ptr<accelerator::Accelerator> accelerator_;
  nn::BeaconNetwork network_;
  std::vector<float> outputs_;
  std::uint64_t unusable_tuples_ = 0;
};

}  // namespace tributary::workload
