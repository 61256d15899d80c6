// Reads an ONNX file.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace tributary::delegate {

inline constexpr std::size_t kMostModelBytes = std::size_t{1} << 31;

// Errors: NotFound, PermissionDenied, FailedPrecondition for a folder, a pipe or a device, on which a read
// might wait for ever, ResourceExhausted for more than kMostModelBytes, Unavailable.
absl::StatusOr<std::string> ReadModelFile(const char* path);

}  // namespace tributary::delegate
