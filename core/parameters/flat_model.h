// A model in federated learning: one flat vector of float32, and its layout.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/parameters/tensor.h"

namespace tributary::parameters {

// The part that stays the same from round to round. A file of the model is `file_header` followed by the
// values, little-endian, in the order of the flat vector; this is the safetensors format of float32 tensors.
struct ModelLayout {
  std::vector<TensorShape> tensors;  // ascending by name
  std::size_t element_count = 0;
  Sha256 schema_sha256 = {};
  std::string file_header;

  std::size_t file_bytes() const { return file_header.size() + element_count * sizeof(float); }
};

struct FlatModel {
  ModelLayout layout;
  std::vector<float> values;
};

// Errors: DataLoss for a file that is not safetensors, InvalidArgument for a model without elements, a tensor
// that is not float32 (naming it) or a value that is not finite.
absl::StatusOr<FlatModel> DecodeFlatModel(std::string_view file);
// The same of its tensors, which it frees on the way: one more copy exists at a time.
absl::StatusOr<FlatModel> FlatModelOf(TensorSet set);

// Consecutive running statistics of batch norms: elements that are measured, not learned. They are averages
// already: a server's momentum or adaptive step would overshoot them.
struct StatisticRange {
  std::size_t first = 0;
  std::size_t count = 0;
  bool variance = false;  // not below zero
};

// The tensors whose names end in ".running_mean", ".running_variance" or (PyTorch's) ".running_var",
// ascending.
std::vector<StatisticRange> FindStatistics(std::span<const TensorShape> tensors);

// The values as bytes of a file. Every target is little-endian.
std::string_view BytesOf(std::span<const float> values);

}  // namespace tributary::parameters
