// Creates the accelerators of accelerator = "cpu".
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/positioning/positioning_network.h"
#include "fpga/model/number_format.h"
#include "node/accelerator/accelerator.h"

namespace tributary::accelerator {

// The positioning network on the processor's vector units. Same outputs as fpga::InferPositioning, bit for
// bit, in the fixed-point formats. Chooses the instruction set. Owns all its buffers: Infer allocates
// nothing, except for kInt32, which runs that scalar model and serves evaluation only. Errors: those of
// MakeFixedPositioning.
absl::StatusOr<std::unique_ptr<Accelerator>> CreateCpuPositioning(const nn::PositioningNetwork& network,
                                                                  fpga::NumberFormat format,
                                                                  std::size_t max_batch);

// The beacon network: 62 multiplications, without vector units. Features: three ranges in m; outputs: x and y
// in m, in the site's frame. NaN for a subject whose ranges are not finite. kInt16 is the board's arithmetic
// (BeaconModel); kFloat the network as trained. Errors: InvalidArgument for another format.
absl::StatusOr<std::unique_ptr<Accelerator>> CreateCpuBeacon(const nn::BeaconNetwork& network,
                                                             fpga::NumberFormat format,
                                                             std::size_t max_batch);

// Fusion by the block's golden model. Errors: as FusionAccelerator::Check.
absl::StatusOr<std::unique_ptr<Accelerator>> CreateCpuFusion(std::size_t panels, std::size_t max_batch);

}  // namespace tributary::accelerator
