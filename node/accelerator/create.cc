#include "node/accelerator/create.h"

#include "core/status/macros.h"
#include "node/accelerator/cpu.h"
#include "node/accelerator/xrt_create.h"

namespace tributary::accelerator {

absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::PositioningNetwork&) {
  if (config.kind != AcceleratorKind::kXrt) return absl::OkStatus();
  if (config.format != fpga::NumberFormat::kInt8Int16) {
    return absl::InvalidArgumentError("format: accelerator = \"xrt\" computes in format = \"int8_16\" only");
  }
  return CheckXrt(kXrtPositioningKernel, config.xrt);
}

absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::BeaconNetwork&) {
  if (config.kind != AcceleratorKind::kXrt) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "accelerator: no kernel for workload = \"beacon\" yet: use accelerator = \"cpu\"");
}

absl::Status CheckFusion(const AcceleratorConfig& config) {
  return config.kind == AcceleratorKind::kXrt ? CheckXrt(kXrtFusionKernel, config.xrt) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Accelerator>> CreateAccelerator(const AcceleratorConfig& config,
                                                               const nn::PositioningNetwork& network) {
  RETURN_IF_ERROR(CheckAccelerator(config, network));
  if (config.kind == AcceleratorKind::kXrt)
    return CreateXrtPositioning(network, config.max_batch, config.xrt);
  return CreateCpuPositioning(network, config.format, config.max_batch);
}

absl::StatusOr<std::unique_ptr<Accelerator>> CreateAccelerator(const AcceleratorConfig& config,
                                                               const nn::BeaconNetwork& network) {
  RETURN_IF_ERROR(CheckAccelerator(config, network));
  return CreateCpuBeacon(network, config.format, config.max_batch);
}

absl::StatusOr<std::unique_ptr<Accelerator>> CreateFusion(const AcceleratorConfig& config,
                                                          std::size_t panels) {
  if (config.kind == AcceleratorKind::kXrt) return CreateXrtFusion(panels, config.max_batch, config.xrt);
  return CreateCpuFusion(panels, config.max_batch);
}

}  // namespace tributary::accelerator
