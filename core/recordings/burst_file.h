// Bursts of a file.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/parameters/npy.h"

namespace tributary::recordings {

// [n, 2, 128], scaled to unit power: from float32 [n, 2, 128] in NumPy's format, or a SigMF recording
// (NAME.sigmf-meta) cut into bursts. Errors: those of the file, naming it; InvalidArgument, naming the burst,
// for one with a radio::BurstFault.
absl::StatusOr<parameters::NpyArray> ReadBursts(const std::string& path);

}  // namespace tributary::recordings
