#include "core/nn/kernel/parameter_layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace tributary {

ParameterLayout::ParameterLayout(std::vector<TensorShape> tensors) : tensors_(std::move(tensors)) {
  std::ranges::sort(tensors_, {}, &TensorShape::name);
  for (const TensorShape& tensor : tensors_) {
    offsets_.push_back(size_);
    size_ += tensor.size();
  }
}

ParameterRange ParameterLayout::Range(std::string_view name) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].name == name) return {offsets_[i], tensors_[i].size()};
  }
  return {};
}

TensorSet ToTensorSet(const std::vector<TensorShape>& schema, std::span<const float> parameters) {
  TensorSet set;
  std::size_t offset = 0;
  for (const TensorShape& tensor : schema) {
    set.tensors[tensor.name] = FloatTensor(tensor.shape, parameters.subspan(offset, tensor.size()));
    offset += tensor.size();
  }
  return set;
}

absl::StatusOr<std::vector<float>> FlatParameters(const std::vector<TensorShape>& schema,
                                                  const TensorSet& set) {
  std::vector<float> flat;
  for (const TensorShape& expected : schema) {
    const auto tensor = FindTensor(set, expected.name);
    if (!tensor.ok()) return tensor.status();
    const auto values = FloatValues(expected.name, **tensor, expected.shape);
    if (!values.ok()) return values.status();
    flat.insert(flat.end(), values->begin(), values->end());
  }
  for (const auto& [name, tensor] : set.tensors) {
    if (std::ranges::find(schema, name, &TensorShape::name) == schema.end()) {
      return absl::InvalidArgumentError(fmt::format("tensor \"{}\" does not belong to this model", name));
    }
  }
  return flat;
}

}  // namespace tributary
