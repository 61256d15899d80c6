// What the commands that read ONNX graphs have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::cli {

inline constexpr std::size_t kMostGraphFileBytes = std::size_t{1} << 31;

// "NAME=VALUE". Errors: a UsageError that names the option.
absl::StatusOr<std::pair<std::string, std::string>> GraphAssignment(const std::string& option,
                                                                    const std::string& text);

// Sizes by name, from texts of --dimension. Errors: a UsageError.
absl::StatusOr<std::map<std::string, std::int64_t, std::less<>>> GraphDimensions(
    const std::vector<std::string>& texts);

}  // namespace tributary::cli
