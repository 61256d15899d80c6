#include "node/accelerator/create.h"

#include "node/accelerator/cpu_beacon.h"
#include "node/accelerator/cpu_positioning.h"

namespace tributary {

absl::StatusOr<std::unique_ptr<Accelerator>> CreateAccelerator(const AcceleratorConfig& config,
                                                               const PositioningNetwork& network) {
  switch (config.kind) {
    case AcceleratorKind::kCpu:
      return CpuPositioning::Create(network, config.format, config.max_batch);
  }
  return absl::InvalidArgumentError("unknown kind of accelerator");
}

absl::StatusOr<std::unique_ptr<Accelerator>> CreateAccelerator(const AcceleratorConfig& config,
                                                               const BeaconNetwork& network) {
  switch (config.kind) {
    case AcceleratorKind::kCpu:
      return CpuBeacon::Create(network, config.format, config.max_batch);
  }
  return absl::InvalidArgumentError("unknown kind of accelerator");
}

}  // namespace tributary
