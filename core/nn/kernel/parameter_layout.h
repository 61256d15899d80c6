// Where each tensor of a model lies in its flat vector of float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/parameters/tensor.h"

namespace tributary::nn {

// A range of the flat vector.
struct ParameterRange {
  std::size_t offset = 0;
  std::size_t size = 0;

  template <class T>
  std::span<T> Of(std::span<T> flat) const {
    return flat.subspan(offset, size);
  }
};

// Tensors in ascending bytewise order of their names, as a TensorSet keeps them, one behind the other.
class ParameterLayout {
 public:
  explicit ParameterLayout(std::vector<parameters::TensorShape> tensors);

  const std::vector<parameters::TensorShape>& tensors() const { return tensors_; }
  std::size_t size() const { return size_; }

  // The range of a tensor that exists; an empty range otherwise.
  ParameterRange Range(std::string_view name) const;

 private:
  std::vector<parameters::TensorShape> tensors_;
  std::size_t size_ = 0;
};

// The flat vector as named tensors, and back. Errors: InvalidArgument or NotFound, naming the tensor that is
// missing, left over or of another type or shape.
parameters::TensorSet ToTensorSet(const std::vector<parameters::TensorShape>& schema,
                                  std::span<const float> parameters);
absl::StatusOr<std::vector<float>> FlatParameters(const std::vector<parameters::TensorShape>& schema,
                                                  const parameters::TensorSet& set);

}  // namespace tributary::nn
