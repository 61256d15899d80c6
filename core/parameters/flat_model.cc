#include "core/parameters/flat_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/parameters/safetensors.h"
#include "core/status/macros.h"

namespace tributary::parameters {

static_assert(std::endian::native == std::endian::little, "files hold values as they lie in memory");

absl::StatusOr<FlatModel> DecodeFlatModel(std::string_view file) {
  ASSIGN_OR_RETURN(TensorSet set, DecodeSafetensors(file));
  return FlatModelOf(std::move(set));
}

absl::StatusOr<FlatModel> FlatModelOf(TensorSet set) {
  FlatModel model;
  ModelLayout& layout = model.layout;
  layout.schema_sha256 = SchemaIdentity(set);
  for (const auto& [name, tensor] : set.tensors) {
    if (tensor.type != ElementType::kFloat32) {
      return absl::InvalidArgumentError(
          fmt::format("tensor \"{}\" is {}, expected F32", name, ElementTypeName(tensor.type)));
    }
    layout.tensors.push_back({name, tensor.shape});
    layout.element_count += tensor.bytes.size() / sizeof(float);
  }
  if (layout.element_count == 0) return absl::InvalidArgumentError("the model has no parameters");
  // Encode again: a file may hold its tensors in another order. Tensors of one type are then in the order of
  // their names, and the data is the flat vector. At most one more copy of a large model exists at a time.
  std::string encoded = EncodeSafetensors(set);
  set.tensors.clear();
  const std::size_t data_bytes = layout.element_count * sizeof(float);
  const std::size_t header_bytes = encoded.size() - data_bytes;
  model.values.resize(layout.element_count);
  std::memcpy(model.values.data(), encoded.data() + header_bytes, data_bytes);
  layout.file_header = encoded.substr(0, header_bytes);
  if (!std::ranges::all_of(model.values, [](float value) { return std::isfinite(value); })) {
    return absl::InvalidArgumentError("the model has a parameter that is not finite");
  }
  return model;
}

std::vector<StatisticRange> FindStatistics(std::span<const TensorShape> tensors) {
  std::vector<StatisticRange> ranges;
  std::size_t first = 0;
  for (const TensorShape& tensor : tensors) {
    const std::size_t count = tensor.size();
    const bool variance = tensor.name.ends_with(".running_variance") || tensor.name.ends_with(".running_var");
    if (variance || tensor.name.ends_with(".running_mean")) ranges.push_back({first, count, variance});
    first += count;
  }
  return ranges;
}

std::string_view BytesOf(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace tributary::parameters
