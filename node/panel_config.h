// One [[panel]] of a node's configuration.
#pragma once

#include <string>
#include <variant>

#include "core/runtime/config.h"
#include "fpga/model/number_format.h"
#include "node/accelerator/create.h"
#include "node/source/room_source.h"

namespace tributary {

enum class WorkloadKind { kPositioning, kBeacon };

// What makes the samples; one alternative per `kind`.
using SourceConfig = std::variant<RoomSource::Options>;

struct PanelConfig {
  std::string name;
  WorkloadKind workload = WorkloadKind::kPositioning;
  std::string model;  // a file
  AcceleratorKind accelerator = AcceleratorKind::kCpu;
  NumberFormat format = NumberFormat::kInt8Int16;
  double orientation_deg = 0;  // of the panel's frame in the site's, counter-clockwise
  double x_m = 0;              // of the panel's origin in the site's frame
  double y_m = 0;
  SourceConfig source;
};

// Files are resolved against `folder`.
PanelConfig ReadPanel(const ConfigSection& section, const std::string& folder);

}  // namespace tributary
