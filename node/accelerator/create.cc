#include "node/accelerator/create.h"

#include "node/accelerator/cpu_beacon.h"
#include "node/accelerator/cpu_fusion.h"
#include "node/accelerator/cpu_positioning.h"
#include "node/accelerator/xrt_create.h"

namespace tributary {

absl::StatusOr<std::unique_ptr<Accelerator>> CreateAccelerator(const AcceleratorConfig& config,
                                                               const PositioningNetwork& network) {
  switch (config.kind) {
    case AcceleratorKind::kCpu:
      return CpuPositioning::Create(network, config.format, config.max_batch);
    case AcceleratorKind::kXrt:
      if (config.format != NumberFormat::kInt8Int16) {
        return absl::InvalidArgumentError("accelerator = \"xrt\" computes in format = \"int8_16\" only");
      }
      return CreateXrtPositioning(network, config.max_batch, config.xrt);
  }
  return absl::InvalidArgumentError("unknown kind of accelerator");
}

absl::StatusOr<std::unique_ptr<Accelerator>> CreateAccelerator(const AcceleratorConfig& config,
                                                               const BeaconNetwork& network) {
  switch (config.kind) {
    case AcceleratorKind::kCpu:
      return CpuBeacon::Create(network, config.format, config.max_batch);
    case AcceleratorKind::kXrt:
      return absl::InvalidArgumentError("no kernel for workload = \"beacon\" yet: use accelerator = \"cpu\"");
  }
  return absl::InvalidArgumentError("unknown kind of accelerator");
}

absl::StatusOr<std::unique_ptr<Accelerator>> CreateFusion(const AcceleratorConfig& config,
                                                          std::size_t panels) {
  switch (config.kind) {
    case AcceleratorKind::kCpu:
      return CpuFusion::Create(panels, config.max_batch);
    case AcceleratorKind::kXrt:
      return CreateXrtFusion(panels, config.max_batch, config.xrt);
  }
  return absl::InvalidArgumentError("unknown kind of accelerator");
}

}  // namespace tributary
