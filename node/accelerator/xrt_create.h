// The accelerators of accelerator = "xrt".
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/nn/positioning/positioning_network.h"
#include "node/accelerator/accelerator.h"

namespace tributary::accelerator {

// How a panel uses a board: the keys of [[panel]] beside accelerator = "xrt".
struct XrtOptions {
  std::string xclbin;              // file with the positioning kernel
  std::string xclbin_uuid;         // if not empty: the UUID that the file must have
  unsigned device = 0;             // index of the board
  std::size_t compute_units = 1;   // to be used in turn; each belongs to one panel
  std::size_t frames_per_run = 8;  // subjects per start of a kernel: a batch is cut into such runs, which
                                   // overlap
  bool fall_back_to_cpu = false;   // on a failing board
  std::chrono::milliseconds run_timeout{2000};
  std::chrono::milliseconds load_timeout{10000};  // of the run that loads the parameters: 35,000 words
  std::chrono::milliseconds abort_timeout{2000};  // for a driver to end an aborted run
  // The wait after a failure before the board is opened again. It doubles up to a hundred times this until a
  // batch is computed.
  std::chrono::milliseconds reopen_interval{100};
};

// Kernels in the xclbin.
inline constexpr std::string_view kXrtPositioningKernel = "positioning_kernel";
inline constexpr std::string_view kXrtFusionKernel = "fusion_kernel";

// Checks of the xclbin before a board is opened; with fall_back_to_cpu, only those of faults that the
// processor does not take over. Errors: "KEY: what is wrong" with the key at fault; Unimplemented in a build
// without XRT.
absl::Status CheckXrt(std::string_view kernel, const XrtOptions& options);

// Positioning on a board, with the processor as fallback if the options allow that. Same outputs as
// fpga::InferPositioning in int8_16, bit for bit. Errors: InvalidArgument for a network that does not fit;
// those of XrtFrames::Create unless the processor takes over; Unimplemented in a build without XRT. Infer:
// those of XrtFrames::Run.
absl::StatusOr<std::unique_ptr<Accelerator>> CreateXrtPositioning(const nn::PositioningNetwork& network,
                                                                  std::size_t max_batch,
                                                                  const XrtOptions& options);

// The same for the fusion of a board's panels (FusionAccelerator).
absl::StatusOr<std::unique_ptr<Accelerator>> CreateXrtFusion(std::size_t panels, std::size_t max_batch,
                                                             const XrtOptions& options);

}  // namespace tributary::accelerator
