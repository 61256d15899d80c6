// From a panel's configuration to its source and workload: the one place that knows the implementations.
#pragma once

#include "absl/status/statusor.h"
#include "core/runtime/clock.h"
#include "node/model_file.h"
#include "node/panel.h"
#include "node/panel_config.h"

namespace tributary {

// Errors: as the implementation's Create, after the panel's name.
absl::StatusOr<PanelParts> MakePanelParts(const PanelConfig& config, const Model& model, const Clock& clock);

}  // namespace tributary
