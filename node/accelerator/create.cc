#include "node/accelerator/create.h"

#include "node/accelerator/cpu_beacon.h"
#include "node/accelerator/cpu_fusion.h"
#include "node/accelerator/cpu_positioning.h"
#include "node/accelerator/xrt_create.h"

namespace tributary::accelerator {

absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::PositioningNetwork&) {
  if (config.kind != AcceleratorKind::kXrt) return absl::OkStatus();
  if (config.format != fpga::NumberFormat::kInt8Int16) {
    return absl::InvalidArgumentError("format: accelerator = \"xrt\" computes in format = \"int8_16\" only");
  }
  return CheckXrtPositioning(config.xrt);
}

absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::BeaconNetwork&) {
  if (config.kind != AcceleratorKind::kXrt) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "accelerator: no kernel for workload = \"beacon\" yet: use accelerator = \"cpu\"");
}

absl::Status CheckFusion(const AcceleratorConfig& config) {
  return config.kind == AcceleratorKind::kXrt ? CheckXrtFusion(config.xrt) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Accelerator>> CreateAccelerator(const AcceleratorConfig& config,
                                                               const nn::PositioningNetwork& network) {
  if (absl::Status status = CheckAccelerator(config, network); !status.ok()) return status;
  switch (config.kind) {
    case AcceleratorKind::kCpu:
      return CpuPositioning::Create(network, config.format, config.max_batch);
    case AcceleratorKind::kXrt:
      return CreateXrtPositioning(network, config.max_batch, config.xrt);
  }
  return absl::InvalidArgumentError("unknown kind of accelerator");
}

absl::StatusOr<std::unique_ptr<Accelerator>> CreateAccelerator(const AcceleratorConfig& config,
                                                               const nn::BeaconNetwork& network) {
  if (absl::Status status = CheckAccelerator(config, network); !status.ok()) return status;
  return CpuBeacon::Create(network, config.format, config.max_batch);
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

}  // namespace tributary::accelerator
