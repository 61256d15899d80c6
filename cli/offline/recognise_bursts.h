// `tributary infer --iq`: a modulation model on the bursts of a file.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "fpga/model/number_format.h"

namespace tributary::cli {

// From float32 [n, 2, 128] at `iq`, or a SigMF recording (NAME.sigmf-meta) cut into bursts, scaled to unit
// power, to log-probabilities float32 [n, 10] at `out`. Errors: those of the model and the files;
// InvalidArgument, naming the burst, for one with a radio::BurstFault.
absl::Status RecogniseBursts(const std::string& model, const std::string& iq, fpga::NumberFormat format,
                             const std::string& out);

}  // namespace tributary::cli
