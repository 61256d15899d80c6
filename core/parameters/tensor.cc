#include "core/parameters/tensor.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tributary::parameters {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are copied as little-endian words");

struct TypeEntry {
  ElementType type;
  std::string_view name;
  std::size_t size;
};

constexpr std::array<TypeEntry, 7> kTypes = {{{ElementType::kFloat32, "F32", 4},
                                              {ElementType::kFloat16, "F16", 2},
                                              {ElementType::kInt8, "I8", 1},
                                              {ElementType::kInt16, "I16", 2},
                                              {ElementType::kInt32, "I32", 4},
                                              {ElementType::kInt64, "I64", 8},
                                              {ElementType::kFloat64, "F64", 8}}};

const TypeEntry& EntryOf(ElementType type) { return kTypes[static_cast<std::size_t>(type)]; }

std::string ShapeText(std::span<const std::uint64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace

std::size_t ElementSize(ElementType type) { return EntryOf(type).size; }

std::string_view ElementTypeName(ElementType type) { return EntryOf(type).name; }

std::optional<ElementType> ParseElementType(std::string_view name) {
  for (const TypeEntry& entry : kTypes) {
    if (entry.name == name) return entry.type;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ElementCount(std::span<const std::uint64_t> shape) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && count > kMax / extent) return std::nullopt;
    count *= extent;
  }
  return count;
}

Tensor FloatTensor(std::span<const std::uint64_t> shape, std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {ElementType::kFloat32, {shape.begin(), shape.end()}, {bytes.begin(), bytes.end()}};
}

absl::StatusOr<std::vector<float>> FloatValues(std::string_view name, const Tensor& tensor,
                                               std::span<const std::uint64_t> shape) {
  if (tensor.type != ElementType::kFloat32 ||
      !std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end())) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor \"", std::string(name), "\" is ", std::string(ElementTypeName(tensor.type)), " ",
                     ShapeText(tensor.shape), ", expected F32 ", ShapeText(shape)));
  }
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(float));
  return values;
}

absl::StatusOr<const Tensor*> FindTensor(const TensorSet& set, std::string_view name) {
  const auto found = set.tensors.find(name);
  if (found == set.tensors.end()) {
    return absl::NotFoundError(absl::StrCat("no tensor \"", std::string(name), "\""));
  }
  return &found->second;
}

}  // namespace tributary::parameters
