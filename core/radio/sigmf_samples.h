// The samples of a SigMF recording: a .sigmf-data file, cut into bursts. Pure over bytes; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/radio/sigmf_meta.h"

namespace tributary::radio {

// Bursts one after the other, n × kBurstFeatures numbers; ci16_le in units of 1/32768. A burst does not reach
// over the beginning of a capture: what is left of the capture before it is left out, as is what stands
// before the first capture. Samples are not normalised, and may be infinite or not a number.
//
// Errors name the field: DataLoss if the data is not a whole number of samples or has another SHA-512 than
// the metadata says; InvalidArgument if captures or annotations lie beyond it, or no capture holds a burst.
absl::StatusOr<std::vector<float>> CutSigmfBursts(const SigmfMeta& meta, std::string_view data);

}  // namespace tributary::radio
