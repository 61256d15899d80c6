#include "core/parameters/flat_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/parameters/safetensors.h"

namespace tributary {

static_assert(std::endian::native == std::endian::little, "files hold values as they lie in memory");

absl::StatusOr<FlatModel> DecodeFlatModel(std::string_view file) {
  absl::StatusOr<TensorSet> set = DecodeSafetensors(file);
  if (!set.ok()) return set.status();
  FlatModel model;
  ModelLayout& layout = model.layout;
  layout.schema_sha256 = SchemaIdentity(*set);
  for (const auto& [name, tensor] : set->tensors) {
    if (tensor.type != ElementType::kFloat32) {
      return absl::InvalidArgumentError(
          fmt::format("tensor \"{}\" is {}, expected F32", name, ElementTypeName(tensor.type)));
    }
    const std::size_t count = tensor.bytes.size() / sizeof(float);
    layout.tensors.push_back({name, tensor.shape});
    model.values.resize(layout.element_count + count);
    if (count > 0) std::memcpy(&model.values[layout.element_count], tensor.bytes.data(), tensor.bytes.size());
    layout.element_count += count;
  }
  if (layout.element_count == 0) return absl::InvalidArgumentError("the model has no parameters");
  if (!std::ranges::all_of(model.values, [](float value) { return std::isfinite(value); })) {
    return absl::InvalidArgumentError("the model has a parameter that is not finite");
  }
  // Encoded anew, for a file may hold its tensors in another order.
  layout.file_header = EncodeSafetensors(*set);
  layout.file_header.resize(layout.file_header.size() - layout.element_count * sizeof(float));
  return model;
}

std::string_view BytesOf(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace tributary
