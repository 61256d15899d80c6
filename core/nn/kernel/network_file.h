// What the safetensors files of the networks share: conventions and provenance as metadata, tensors of a
// fixed shape.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/parameters/tensor.h"
#include "core/status/macros.h"

namespace tributary::nn {

struct Provenance {
  std::string name;
  std::string version;
  std::string training_set;
  std::string sha256;  // hex, of the parameters
};

using Shape = std::vector<std::uint64_t>;

// Metadata that every file of a kind has: a reader refuses a file with other conventions. The first entry is
// the kind.
using Convention = std::pair<std::string_view, std::string_view>;
using Conventions = std::span<const Convention>;

std::string MetadataOf(const parameters::TensorSet& set, std::string_view key);  // empty if there is none

void WriteMetadata(Conventions conventions, const Provenance& provenance, parameters::TensorSet& set);

// Fills `provenance` with sha256 = ParameterIdentity, hexadecimal. Errors: InvalidArgument for another
// convention.
absl::Status ReadMetadata(const parameters::TensorSet& set, Conventions conventions, Provenance& provenance);

// Errors: InvalidArgument, naming the tensor, for one that is missing, of another shape or not finite.
absl::StatusOr<std::vector<float>> FiniteValues(const parameters::TensorSet& set, const std::string& name,
                                                const Shape& shape);

// FiniteValues into a vector, or a span of that size, of float or double.
template <class Values>
absl::Status ReadTensor(const parameters::TensorSet& set, const std::string& name, const Shape& shape,
                        Values& values) {
  ASSIGN_OR_RETURN(const std::vector<float> read, FiniteValues(set, name, shape));
  if constexpr (requires { values.resize(read.size()); }) values.resize(read.size());
  std::ranges::copy(read, values.begin());
  return absl::OkStatus();
}

}  // namespace tributary::nn
