// A classifier in its file: parameters as safetensors, their shape as metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/encoder/encoder_options.h"
#include "core/parameters/tensor.h"

namespace tributary::nn {

struct ClassifierFile {
  EncoderOptions encoder;
  std::size_t classes = 0;        // 0: the file has no head; it is drawn where it is needed
  std::vector<float> parameters;  // as ClassifierSchema orders them
  // Draws that head: FreshClassifier. Nothing: a release before made the file, and the run's seed does.
  std::optional<std::uint64_t> head_seed = {};
};

std::string EncodeClassifier(const ClassifierFile& classifier);

// Errors: InvalidArgument or NotFound for metadata that is missing or out of range and for tensors that do
// not fit it, naming them; DecodeClassifier: also those of the safetensors.
absl::StatusOr<ClassifierFile> ClassifierFromTensors(const parameters::TensorSet& set);
absl::StatusOr<ClassifierFile> DecodeClassifier(std::string_view file);

}  // namespace tributary::nn
