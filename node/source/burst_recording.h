// Recordings of bursts as arrays that CreateReplay plays. Pure over bytes; any thread.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "core/parameters/npy.h"

namespace tributary::source {

// The array as [bursts, 256], or [slots, subjects, 256]: takes [n, 2, 128] (one subject), [n, subjects, 2,
// 128], and what has that form already. InvalidArgument for another shape.
absl::StatusOr<parameters::NpyArray> BurstsOfNpy(parameters::NpyArray recording);

// The bursts of a SigMF recording, one subject. `sample_rate_hz`: what the metadata must say, if it says
// anything; 0: any. Errors: those of ParseSigmfMeta and CutSigmfBursts, and InvalidArgument for another rate.
absl::StatusOr<parameters::NpyArray> BurstsOfSigmf(std::string_view metadata, std::string_view data,
                                                   double sample_rate_hz);

}  // namespace tributary::source
