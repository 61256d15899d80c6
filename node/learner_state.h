// What a node carries from round to round besides the model.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary {

struct LearnerState {
  std::string run;
  std::vector<float> residual;  // error feedback: what the encoding left of the last update; or empty
  std::vector<float> local;     // FedEMA's local model; or empty
};

// As a safetensors file. Errors of decoding: DataLoss, InvalidArgument for a file of another kind.
std::string EncodeLearnerState(const LearnerState& state);
absl::StatusOr<LearnerState> DecodeLearnerState(std::string_view file);

}  // namespace tributary
