// Named tensors: the parts of a model or of an update.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::parameters {

// Element types, little-endian.
enum class ElementType { kFloat32, kFloat16, kInt8, kInt16, kInt32, kInt64, kFloat64 };

std::size_t ElementSize(ElementType type);

// As safetensors writes it: "F32", "F16", "I8", "I16", "I32", "I64", "F64".
std::string_view ElementTypeName(ElementType type);
std::optional<ElementType> ParseElementType(std::string_view name);

// Elements in row-major order (the last dimension varies fastest).
struct Tensor {
  ElementType type = ElementType::kFloat32;
  std::vector<std::uint64_t> shape;  // empty: a scalar
  std::vector<std::byte> bytes;      // product of shape × ElementSize(type)
};

// Product of the shape, 1 for a scalar; nullopt if it exceeds 2^63 - 1.
std::optional<std::uint64_t> ElementCount(std::span<const std::uint64_t> shape);

// Name and shape of one float32 tensor of a flat vector.
struct TensorShape {
  std::string name;
  std::vector<std::uint64_t> shape;

  // ElementCount(shape); 0 where that is none.
  std::size_t size() const { return static_cast<std::size_t>(ElementCount(shape).value_or(0)); }
};

Tensor FloatTensor(std::span<const std::uint64_t> shape, std::span<const float> values);

// The values of a float32 tensor of that shape. InvalidArgument (naming `name`) for another type or shape.
absl::StatusOr<std::vector<float>> FloatValues(std::string_view name, const Tensor& tensor,
                                               std::span<const std::uint64_t> shape);

using ModelMetadata = std::map<std::string, std::string, std::less<>>;

// Tensors by name with free metadata. Ordered, so that equal contents give equal files.
struct TensorSet {
  std::map<std::string, Tensor, std::less<>> tensors;
  ModelMetadata metadata;
};

// The tensor of that name; NotFound (naming it) if there is none.
absl::StatusOr<const Tensor*> FindTensor(const TensorSet& set, std::string_view name);

}  // namespace tributary::parameters
