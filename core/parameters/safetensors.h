// The safetensors format: 8 bytes length of the header, a JSON header, the tensors' bytes. Pure over bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/parameters/tensor.h"

namespace tributary::parameters {

// A header with more tensors, or more names in its metadata, is refused while it is parsed.
inline constexpr std::size_t kMaxNames = 100'000;

// Reads a whole file. Every byte of the data belongs to exactly one tensor, names are distinct, element types
// are those of ElementType, and the header is at most 16 MiB long. Errors: DataLoss, with the offset in the
// file.
absl::StatusOr<TensorSet> DecodeSafetensors(std::string_view file);

// Tensors in the order of their element size (large first, so that each is aligned), then name; the header is
// filled up with spaces to a multiple of 8 bytes. Every tensor's bytes fit its shape.
std::string EncodeSafetensors(const TensorSet& set);

}  // namespace tributary::parameters
