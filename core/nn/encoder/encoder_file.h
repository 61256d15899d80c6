// An encoder in its file: parameters as safetensors, the options for them as metadata.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/encoder/self_supervised_trainer.h"

namespace tributary::nn {

std::string EncodeEncoder(const SelfSupervisedTrainer& trainer);

struct EncoderFile {
  SelfSupervisedOptions options;  // the options that the shape depends on; the others are defaults
  std::vector<float> parameters;  // flat
};

// Errors: InvalidArgument or NotFound for metadata that is missing or out of range and for tensors that do
// not fit it, naming them; DecodeEncoder: also those of the safetensors.
absl::StatusOr<EncoderFile> EncoderFromTensors(const parameters::TensorSet& set);
absl::StatusOr<EncoderFile> DecodeEncoder(std::string_view file);

}  // namespace tributary::nn
