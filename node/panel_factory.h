// From a panel's configuration to its source and workload: the one place that knows the implementations.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/runtime/clock.h"
#include "node/config.h"
#include "node/model_file.h"
#include "node/panel.h"
#include "node/panel_config.h"

namespace tributary {

// Errors: as the implementation's Create, after the panel's name.
absl::StatusOr<PanelParts> MakePanelParts(const PanelConfig& config, const Model& model, const Clock& clock);

// What fuses the tuples of these panels. Errors: as CreateFusion, after "fusion"; InvalidArgument for panels
// whose tuples do not lie in the plane.
absl::StatusOr<std::unique_ptr<Accelerator>> MakeFusionAccelerator(const FusionConfig& config,
                                                                   const std::vector<PanelParts>& panels);

}  // namespace tributary
