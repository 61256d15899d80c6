// The identity of a model: its parameters, not the file around them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/parameters/tensor.h"

namespace tributary::parameters {

using Sha256 = std::array<std::byte, 32>;

// SHA-256 over all tensors, in ascending bytewise order of their names. Each contributes, every number as 8
// bytes little-endian: length of the name, the name; length of the element type's name ("F32"), that name;
// number of dimensions, each dimension; number of bytes, the bytes. Metadata does not count.
Sha256 ParameterIdentity(const TensorSet& set);

// SHA-256 over the names, element types and shapes alone, each as above: equal for models with the same
// layout of the flat vector.
Sha256 SchemaIdentity(const TensorSet& set);

// ParameterIdentity of the set whose tensors, ascending by name, are these parts of `values`.
Sha256 FlatIdentity(std::span<const TensorShape> tensors, std::span<const float> values);

// Lower-case hexadecimal, 64 characters.
std::string HexOf(const Sha256& identity);

// The 32 bytes, as the wire and files have them.
std::string BytesOf(const Sha256& identity);

}  // namespace tributary::parameters
