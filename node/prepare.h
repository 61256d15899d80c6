// Everything that a node does before it binds a port, opens a board or connects. Start continues from the
// result; --check ends with it. So both find the same faults.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/config/config.h"
#include "core/config/tls.h"
#include "core/images/image_set.h"
#include "core/runtime/clock.h"
#include "node/config.h"
#include "node/panel/panel_factory.h"

namespace tributary::node {

struct PreparedNode {
  NodeConfig config;
  std::optional<config::LoadedTls> tls;
  std::vector<std::shared_ptr<const panel::Model>> models;           // of config.panels, in their order
  std::vector<panel::PanelParts> panels;                             // in the same order
  std::vector<std::shared_ptr<retraining::BeaconInForce>> in_force;  // the same; null: no retraining
  std::optional<images::ImageSet> images;                            // of config.federation, if it has images
  std::optional<learner::BeaconExamples> examples;                   // of config.federation.beacon
  std::optional<recordings::LabelledBursts> bursts;                  // of config.federation.modulation
  std::optional<learner::PanelPoints> points;                        // of config.federation.positioning
  std::vector<std::string> remarks;                                  // no faults, but worth a line at start
};

// Reads the configuration and the files that it names. `clock` outlives the result. Errors: InvalidArgument
// with a line for every fault: file, line, key.
absl::StatusOr<PreparedNode> PrepareNode(const config::ConfigFile& file, const runtime::Clock& clock);

}  // namespace tributary::node
