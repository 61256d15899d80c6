#include "core/nn/kernel/parameter_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/status/macros.h"

namespace tributary::nn {

ParameterLayout::ParameterLayout(std::vector<parameters::TensorShape> tensors)
    : tensors_(std::move(tensors)) {
  std::ranges::sort(tensors_, {}, &parameters::TensorShape::name);
  for (const parameters::TensorShape& tensor : tensors_) size_ += tensor.size();
}

ParameterRange ParameterLayout::Range(std::string_view name) const {
  std::size_t offset = 0;
  for (const parameters::TensorShape& tensor : tensors_) {
    if (tensor.name == name) return {offset, tensor.size()};
    offset += tensor.size();
  }
  return {};
}

parameters::TensorSet ToTensorSet(const std::vector<parameters::TensorShape>& schema,
                                  std::span<const float> parameters) {
  parameters::TensorSet set;
  std::size_t offset = 0;
  for (const parameters::TensorShape& tensor : schema) {
    set.tensors[tensor.name] =
        parameters::FloatTensor(tensor.shape, parameters.subspan(offset, tensor.size()));
    offset += tensor.size();
  }
  return set;
}

absl::StatusOr<std::vector<float>> FlatParameters(const std::vector<parameters::TensorShape>& schema,
                                                  const parameters::TensorSet& set) {
  std::size_t count = 0;  // of tensors that are there: a schema alone may ask for any memory
  for (const parameters::TensorShape& expected : schema) {
    ASSIGN_OR_RETURN(const parameters::Tensor* const tensor, parameters::FindTensor(set, expected.name));
    if (tensor->shape == expected.shape) count += expected.size();
  }
  std::vector<float> flat;
  flat.reserve(count);
  for (const parameters::TensorShape& expected : schema) {
    ASSIGN_OR_RETURN(const parameters::Tensor* const tensor, parameters::FindTensor(set, expected.name));
    ASSIGN_OR_RETURN(const std::vector<float> values,
                     parameters::FloatValues(expected.name, *tensor, expected.shape));
    flat.insert(flat.end(), values.begin(), values.end());
  }
  for (const auto& [name, tensor] : set.tensors) {
    if (std::ranges::find(schema, name, &parameters::TensorShape::name) == schema.end()) {
      return absl::InvalidArgumentError(fmt::format("tensor \"{}\" does not belong to this model", name));
    }
  }
  return flat;
}

}  // namespace tributary::nn
