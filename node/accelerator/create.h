// Creates a node's accelerator from its configuration.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/positioning/positioning_network.h"
#include "fpga/model/number_format.h"
#include "node/accelerator/accelerator.h"
#include "node/accelerator/xrt_create.h"

namespace tributary::accelerator {

enum class AcceleratorKind {
  kCpu,  // the integer model on the processor's vector units
  kXrt,  // a board's programmable logic
};

struct AcceleratorConfig {
  AcceleratorKind kind = AcceleratorKind::kCpu;
  fpga::NumberFormat format = fpga::NumberFormat::kInt8Int16;
  std::size_t max_batch = 64;  // subjects per slot
  XrtOptions xrt{};            // for kXrt
};

// Errors: InvalidArgument for a network that does not fit the format.
absl::StatusOr<std::unique_ptr<Accelerator>> CreateAccelerator(const AcceleratorConfig& config,
                                                               const nn::PositioningNetwork& network);
absl::StatusOr<std::unique_ptr<Accelerator>> CreateAccelerator(const AcceleratorConfig& config,
                                                               const nn::BeaconNetwork& network);

// Checks that CreateAccelerator makes before it opens a board. Errors: InvalidArgument, FailedPrecondition,
// NotFound or PermissionDenied, "KEY: what is wrong" with the key of [[panel]] at fault.
absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::PositioningNetwork& network);
absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::BeaconNetwork& network);
absl::Status CheckFusion(const AcceleratorConfig& config);

// Fuses the tuples of a board's panels (FusionAccelerator); the block's own format. Errors: InvalidArgument
// for a number of panels that the block does not support.
absl::StatusOr<std::unique_ptr<Accelerator>> CreateFusion(const AcceleratorConfig& config,
                                                          std::size_t panels);

}  // namespace tributary::accelerator
