// Everything that a node does before it binds a port, opens a board or connects. Start goes on from the
// result;
// --check ends with it. So both find the same faults.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/images/image_set.h"
#include "core/runtime/clock.h"
#include "core/config/config.h"
#include "core/config/tls.h"
#include "node/config.h"
#include "node/panel/model_file.h"
#include "node/panel/panel_factory.h"

namespace tributary {

struct PreparedNode {
  NodeConfig config;
  std::optional<TlsMaterial> tls;
  std::vector<std::shared_ptr<const Model>> models;  // of config.panels, in their order
  std::vector<PreparedPanel> panels;                 // likewise
  std::optional<ImageSet> images;                    // of config.federation
  std::vector<std::string> remarks;                  // no faults, but worth a line at start
};

// Reads the configuration and what it names. `clock` outlives the result. Errors: InvalidArgument with a line
// for every fault: file, line, key. NotFound or PermissionDenied naming the configuration.
absl::StatusOr<PreparedNode> PrepareNode(const std::string& path, const Clock& clock);
absl::StatusOr<PreparedNode> PrepareNode(const ConfigFile& file, const Clock& clock);

}  // namespace tributary
