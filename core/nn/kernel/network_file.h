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

// A network names its tensors once, with the member that holds each: a vector, or a span of the tensor's
// size, of float or double. These two take that list.
struct TensorWriter {
  parameters::TensorSet& set;

  template <class Values>
  void operator()(const std::string& name, const Shape& shape, const Values& values) const {
    set.tensors.emplace(name,
                        parameters::FloatTensor(shape, std::vector<float>(values.begin(), values.end())));
  }
};

struct TensorReader {
  const parameters::TensorSet& set;
  absl::Status& status;  // the first error of FiniteValues

  template <class Values>
  void operator()(const std::string& name, const Shape& shape, Values&& values) const {
    const auto read = FiniteValues(set, name, shape);
    status.Update(read.status());
    if (!read.ok()) return;
    if constexpr (requires { values.resize(read->size()); }) values.resize(read->size());
    std::ranges::copy(*read, values.begin());
  }
};

}  // namespace tributary::nn
