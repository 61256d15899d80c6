// What a node keeps from round to round besides the model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/images/images_stream.h"

namespace tributary::learner {

struct LearnerState {
  std::string run;
  std::vector<float> residual;  // error feedback: what the encoding lost of the last update; may be empty
  std::vector<float> local;     // FedEMA's local model; may be empty
  std::vector<images::KeptImage> buffer;  // which images are in it and how novel they are; never their pixels
  std::vector<float> target = {};         // BYOL's target network; may be empty
};

// As a safetensors file with a CRC of its tensors. Errors of decoding: DataLoss; InvalidArgument for a file
// of another kind.
std::string EncodeLearnerState(const LearnerState& state);
absl::StatusOr<LearnerState> DecodeLearnerState(std::string_view file);

}  // namespace tributary::learner
