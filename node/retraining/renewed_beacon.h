// A beacon workload whose network another thread renews.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "node/accelerator/beacon_accelerator.h"
#include "node/retraining/beacon_in_force.h"
#include "node/workload/workload.h"

namespace tributary::retraining {

// As workload::CreateBeacon. A new network in `in_force` is written to the accelerator before the next frame:
// a frame has one network, and the weights of the tuple are those of its covariance. The accelerator has the
// network that is in force now, as near as its words can hold it: that one is put in force. Errors: those of
// CreateBeacon and BeaconAccelerator::weights.
absl::StatusOr<std::unique_ptr<workload::Workload>> CreateRenewedBeacon(
    std::unique_ptr<accelerator::BeaconAccelerator> accelerator, std::shared_ptr<BeaconInForce> in_force);

}  // namespace tributary::retraining
