// The model of a panel, read from its file.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/positioning/positioning_network.h"
#include "node/panel/panel_config.h"

namespace tributary::panel {

struct ModelIdentity {
  std::string name;
  std::string version;
  std::string sha256;  // 32 bytes, of the parameters

  friend bool operator==(const ModelIdentity&, const ModelIdentity&) = default;
};

struct Model {
  std::variant<nn::PositioningNetwork, nn::BeaconNetwork> network;
  ModelIdentity identity;
};

// Errors name the file and what to do: NotFound or PermissionDenied; InvalidArgument or DataLoss for a file
// that is not a model of this kind.
absl::StatusOr<std::shared_ptr<const Model>> LoadModel(WorkloadKind kind, const std::string& path);

}  // namespace tributary::panel
