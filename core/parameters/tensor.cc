#include "core/parameters/tensor.h"

#include <algorithm>
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
  std::string_view name;
  std::size_t size;
};

// In the order of ElementType.
constexpr std::array<TypeEntry, 7> kTypes = {
    {{"F32", 4}, {"F16", 2}, {"I8", 1}, {"I16", 2}, {"I32", 4}, {"I64", 8}, {"F64", 8}}};

const TypeEntry& EntryOf(ElementType type) { return kTypes[static_cast<std::size_t>(type)]; }

std::string ShapeText(std::span<const std::uint64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace

std::size_t ElementSize(ElementType type) { return EntryOf(type).size; }

std::string_view ElementTypeName(ElementType type) { return EntryOf(type).name; }

std::optional<ElementType> ParseElementType(std::string_view name) {
  const auto* const found = std::ranges::find(kTypes, name, &TypeEntry::name);
  if (found == kTypes.end()) return std::nullopt;
  return static_cast<ElementType>(found - kTypes.begin());
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
