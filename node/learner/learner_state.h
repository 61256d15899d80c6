// What a node keeps from round to round besides the model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/parameters/tensor.h"

namespace tributary::learner {

struct LearnerState {
  std::string run;
  std::vector<float> residual;    // error feedback: what the encoding lost of the last update; may be empty
  parameters::TensorSet trainer;  // Trainer::State; its metadata is not kept
};

// As a safetensors file with a CRC of its tensors. Errors of decoding: DataLoss; InvalidArgument for a file
// of another kind.
std::string EncodeLearnerState(LearnerState state);
absl::StatusOr<LearnerState> DecodeLearnerState(std::string_view file);

}  // namespace tributary::learner
