// Creates the accelerators of accelerator = "xrt".
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "core/nn/positioning/positioning_network.h"
#include "node/accelerator/accelerator.h"
#include "node/accelerator/xrt_options.h"

namespace tributary::accelerator {

// Positioning on a board, with the processor as fallback if the options allow that. Errors: those of
// XrtPositioning::Create unless the processor takes over; Unimplemented in a build without XRT.
absl::StatusOr<std::unique_ptr<Accelerator>> CreateXrtPositioning(const nn::PositioningNetwork& network,
                                                                  std::size_t max_batch,
                                                                  const XrtOptions& options);

// Checks of the xclbin before a board is opened; with fall_back_to_cpu, only those of faults that the
// processor does not take over. Errors: "KEY: what is wrong" with the key at fault; Unimplemented in a build
// without XRT.
absl::Status CheckXrtPositioning(const XrtOptions& options);
absl::Status CheckXrtFusion(const XrtOptions& options);

// The same for the fusion of a board's panels.
absl::StatusOr<std::unique_ptr<Accelerator>> CreateXrtFusion(std::size_t panels, std::size_t max_batch,
                                                             const XrtOptions& options);

}  // namespace tributary::accelerator
