// NumPy's .npy format, versions 1 and 2. Pure over bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::parameters {

// An array in C order whose elements are still the file's bytes.
struct NpyFile {
  std::string type;  // as NumPy writes it: "<f4", "|u1"
  std::vector<std::uint64_t> shape;
  std::string_view bytes;
};

// Errors: DataLoss with the offset for a file that is damaged, InvalidArgument for Fortran order of more than
// one dimension. Whether the bytes fit the shape is not looked at.
absl::StatusOr<NpyFile> OpenNpy(std::string_view file);

// Version 1.0, around elements of that type; they are those of the shape.
std::string EncodeNpy(std::string_view type, std::span<const std::uint64_t> shape, std::string_view bytes);

// A C-ordered array of float32.
struct NpyArray {
  std::vector<std::uint64_t> shape;
  std::vector<float> values;  // product of shape
};

// Reads little-endian float32 or float64 (converted, out of range becomes infinite) in C order; Fortran order
// is taken for arrays of at most one dimension, where it means the same. Errors: DataLoss with the offset for
// a file that is damaged or cut, InvalidArgument for an array of another kind.
absl::StatusOr<NpyArray> DecodeNpy(std::string_view file);

// Version 1.0, "<f4". values.size() is the product of the shape.
std::string EncodeNpy(std::span<const std::uint64_t> shape, std::span<const float> values);

}  // namespace tributary::parameters
