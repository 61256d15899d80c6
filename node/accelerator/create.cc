#include "node/accelerator/create.h"

#include "core/status/context.h"
#include "core/status/macros.h"
#include "fpga/model/modulation_image.h"
#include "fpga/model/tensor_kernels.h"
#include "node/accelerator/graph_run.h"
#include "node/accelerator/tensor_target.h"

namespace tributary::accelerator {

absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::PositioningNetwork&) {
  if (!config.xrt.has_value()) return absl::OkStatus();
  if (config.format != fpga::NumberFormat::kInt8Int16) {
    return absl::InvalidArgumentError("format: accelerator = \"xrt\" computes in format = \"int8_16\" only");
  }
  return CheckXrt({kXrtPositioningKernel}, *config.xrt);
}

absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::BeaconNetwork&) {
  if (!config.xrt.has_value()) return absl::OkStatus();
  if (config.format != fpga::NumberFormat::kInt16) {
    return absl::InvalidArgumentError(
        "format: accelerator = \"xrt\" computes beacon networks in format = \"int16\" only");
  }
  return CheckXrt({kXrtBeaconKernel}, *config.xrt);
}

absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::RangeGeometry&) {
  if (!config.xrt.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError("accelerator: no kernel for a range geometry: use accelerator = \"cpu\"");
}

absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::ModulationNetwork&) {
  if (!config.xrt.has_value()) return absl::OkStatus();
  if (config.format != fpga::NumberFormat::kInt8) {
    return absl::InvalidArgumentError(
        "format: accelerator = \"xrt\" computes modulation networks in format = \"int8\" only");
  }
  std::vector<std::string_view> kernels;
  for (const fpga::ModulationKernel& kernel : fpga::kModulationKernels) kernels.push_back(kernel.name);
  return CheckXrt(kernels, *config.xrt);
}

std::vector<std::string_view> GraphTensorKernels(FloatLayers floats) {
  std::vector<std::string_view> kernels;
  for (const fpga::TensorKernel& kernel : fpga::kTensorKernels) {
    if (Has(kernel.size, floats)) kernels.push_back(kernel.name);
  }
  return kernels;
}

absl::Status CheckAccelerator(const AcceleratorConfig& config, const graph::GraphModel& model) {
  if (!config.xrt.has_value()) return absl::OkStatus();
  if (config.xrt->compute_units > 1) {
    return absl::InvalidArgumentError(
        "compute_units: a graph computes one subject after another, on one unit");
  }
  const FloatLayers floats = config.xrt->float_layers;
  RETURN_IF_ERROR(CheckXrt(GraphTensorKernels(floats), *config.xrt));
  if (config.xrt->fall_back_to_cpu) return absl::OkStatus();
  const TensorBoardPlan unit(floats);
  ASSIGN_OR_RETURN(const auto session, graph::OpenSession(model, &unit));
  return WithContext("accelerator", CheckDelegated(*session));
}

absl::Status CheckFusion(const AcceleratorConfig& config) {
  return config.xrt.has_value() ? CheckXrt({kXrtFusionKernel}, *config.xrt) : absl::OkStatus();
}

absl::Status CheckEncoderBoard(const XrtOptions& options) {
  return CheckXrt({kXrtViewsKernel, kXrtTensorKernel, kXrtTensorBfloatKernel}, options);
}

Created CreateAccelerator(const AcceleratorConfig& config, const nn::PositioningNetwork& network) {
  RETURN_IF_ERROR(CheckAccelerator(config, network));
  if (config.xrt.has_value()) return CreateXrtPositioning(network, config.max_batch, *config.xrt);
  return CreateCpuPositioning(network, config.format, config.max_batch);
}

CreatedBeacon CreateAccelerator(const AcceleratorConfig& config, const nn::BeaconNetwork& network) {
  RETURN_IF_ERROR(CheckAccelerator(config, network));
  if (config.xrt.has_value()) return CreateXrtBeacon(network, config.max_batch, *config.xrt);
  return CreateCpuBeacon(network, config.format, config.max_batch);
}

Created CreateAccelerator(const AcceleratorConfig& config, const nn::RangeGeometry& geometry) {
  RETURN_IF_ERROR(CheckAccelerator(config, geometry));
  return CreateCpuGeometry(geometry, config.max_batch);
}

Created CreateAccelerator(const AcceleratorConfig& config, const nn::ModulationNetwork& network) {
  RETURN_IF_ERROR(CheckAccelerator(config, network));
  if (config.xrt.has_value()) return CreateXrtModulation(network, config.max_batch, *config.xrt);
  return CreateCpuModulation(network, config.format, config.max_batch);
}

Created CreateAccelerator(const AcceleratorConfig& config, const graph::GraphModel& model) {
  RETURN_IF_ERROR(CheckAccelerator(config, model));
  if (config.xrt.has_value()) return CreateXrtGraph(model, config.max_batch, *config.xrt);
  return CreateCpuGraph(model, config.max_batch);
}

Created CreateFusion(const AcceleratorConfig& config, std::size_t panels) {
  if (config.xrt.has_value()) return CreateXrtFusion(panels, config.max_batch, *config.xrt);
  return CreateCpuFusion(panels, config.max_batch);
}

}  // namespace tributary::accelerator
