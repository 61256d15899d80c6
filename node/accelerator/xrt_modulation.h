// Modulation networks on a board, without a fallback.
#pragma once

#include <cstddef>

#include "core/nn/modulation/modulation_network.h"
#include "node/accelerator/create.h"

namespace tributary::accelerator {

// Opens the board and loads the network, as the kernel in the xclbin wants it (fpga::kModulationKernels).
// Errors: InvalidArgument for a network that the kernel cannot run;
// those of XrtFrames::Create.
Created OpenXrtModulation(const nn::ModulationNetwork& network, std::size_t max_batch,
                          const XrtOptions& options);

}  // namespace tributary::accelerator
