// Named tensors, the parts of a model or of an update, and their identity.
#pragma once

#include <array>
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

using Sha256 = std::array<std::byte, 32>;

// The identity of a model: its parameters, not the file around them. SHA-256 over all tensors, in ascending
// bytewise order of their names. Each contributes, every number as 8 bytes little-endian: length of the name,
// the name; length of the element type's name ("F32"), that name; number of dimensions, each dimension;
// number of bytes, the bytes. Metadata does not count.
Sha256 ParameterIdentity(const TensorSet& set);

// SHA-256 over the names, element types and shapes alone, each as above: equal for models with the same
// layout of the flat vector.
Sha256 SchemaIdentity(const TensorSet& set);

// ParameterIdentity of the set whose tensors, ascending by name, are these parts of `values`.
Sha256 FlatIdentity(std::span<const TensorShape> tensors, std::span<const float> values);

// Lower-case hexadecimal, 64 characters.
std::string HexOf(const Sha256& identity);

// SHA-256 of these bytes.
Sha256 DigestOf(std::string_view bytes);

// The 32 bytes, as the wire and files have them.
std::string BytesOf(const Sha256& identity);

}  // namespace tributary::parameters
