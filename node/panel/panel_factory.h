// Creates a panel's model, source and workload from its configuration: the only place that knows the
// implementations.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/graph/graph_model.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/geometry/range_geometry.h"
#include "core/nn/modulation/modulation_network.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/runtime/clock.h"
#include "node/panel/panel.h"
#include "node/panel/panel_config.h"
#include "node/retraining/beacon_in_force.h"

namespace tributary::panel {

using Model = std::variant<nn::PositioningNetwork, nn::BeaconNetwork, nn::RangeGeometry,
                           nn::ModulationNetwork, graph::GraphModel>;

inline const nn::Provenance& ProvenanceOf(const Model& model) {
  return std::visit([](const nn::Provenance& provenance) -> const nn::Provenance& { return provenance; },
                    model);
}

// The classes that the model tells apart; empty: it gives positions.
std::vector<std::string> ClassesOf(const Model& model);

// The model file of such a panel. Errors name the file and what to do, but for a network, whose errors are
// those of graph::DecodeGraphModel: NotFound or PermissionDenied;
// InvalidArgument or DataLoss for a file that is not a model of the panel's kind, ResourceExhausted for a
// graph that needs too much memory.
absl::StatusOr<std::shared_ptr<const Model>> LoadModel(const PanelConfig& config);

// The parts of a panel before it binds a port or opens a board: null if it needs that. Errors: "KEY: what is
// wrong", with the key of [panel.source] or [[panel]] at fault.
absl::StatusOr<std::unique_ptr<source::Source>> PrepareSource(const PanelConfig& config, const Model& model,
                                                              const runtime::Clock& clock);
// `in_force`: the network of a panel with retraining; null without.
absl::StatusOr<std::unique_ptr<workload::Workload>> PrepareWorkload(
    const PanelConfig& config, const Model& model,
    const std::shared_ptr<retraining::BeaconInForce>& in_force);

// What a panel with retraining begins with: the network that its state file keeps, or the model. Null for a
// panel without. Errors: "state: what is wrong"; InvalidArgument for a model that is no network.
absl::StatusOr<std::shared_ptr<retraining::BeaconInForce>> NetworkInForce(const PanelConfig& config,
                                                                          const Model& model);

// Makes what was not prepared: binds the port and opens the board. A panel that has failed opens with nothing
// prepared. Errors: as the implementation's Create, after the panel's name.
absl::StatusOr<PanelParts> OpenParts(const PanelConfig& config, const Model& model,
                                     const std::shared_ptr<retraining::BeaconInForce>& in_force,
                                     PanelParts prepared, const runtime::Clock& clock);

}  // namespace tributary::panel
