// Creates a panel's source and workload from its configuration: the only place that knows the
// implementations.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/runtime/clock.h"
#include "node/config.h"
#include "node/panel/model_file.h"
#include "node/panel/panel.h"
#include "node/panel/panel_config.h"

namespace tributary::panel {

// A panel before it binds a port or opens a board.
struct PreparedPanel {
  std::unique_ptr<source::Source> source;        // null: it binds a port
  std::unique_ptr<workload::Workload> workload;  // null: it runs on a board
};

// The two halves of a PreparedPanel. Errors: "KEY: what is wrong", with the key of [panel.source] or
// [[panel]] at fault; a fault of a file begins with that file.
absl::StatusOr<std::unique_ptr<source::Source>> PrepareSource(const PanelConfig& config, const Model& model,
                                                              const runtime::Clock& clock);
absl::StatusOr<std::unique_ptr<workload::Workload>> PrepareWorkload(const PanelConfig& config,
                                                                    const Model& model);

// Binds the port and opens the board. Errors: as the implementation's Create, after the panel's name.
absl::StatusOr<PanelParts> OpenParts(const PanelConfig& config, const Model& model, PreparedPanel prepared,
                                     const runtime::Clock& clock);
// Both steps, for a panel that has failed.
absl::StatusOr<PanelParts> ReopenParts(const PanelConfig& config, const Model& model,
                                       const runtime::Clock& clock);

// Fuses the tuples of these panels. Errors: as CreateFusion, after "fusion"; InvalidArgument for panels whose
// tuples are not two-dimensional.
absl::StatusOr<std::unique_ptr<accelerator::Accelerator>> MakeFusionAccelerator(
    const node::FusionConfig& config, const std::vector<PanelParts>& panels);

}  // namespace tributary::panel
