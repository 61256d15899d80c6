// The file that keeps a retrained network over a restart.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"

namespace tributary::retraining {

// Marks the network as one that was retrained from `model`, and replaces the file. Errors: as
// WriteFileAtomically.
absl::Status SaveRetrained(const std::string& path, nn::BeaconNetwork network,
                           const nn::BeaconNetwork& model);

// Nothing if there is no file, or if it has a network that was retrained from another model. Errors name the
// path: as ReadFile and DecodeBeacon.
absl::StatusOr<std::optional<nn::BeaconNetwork>> LoadRetrained(const std::string& path,
                                                               const nn::BeaconNetwork& model);

}  // namespace tributary::retraining
