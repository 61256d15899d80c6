// A configuration again, with other values at its top.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::config {

using TopValue = std::variant<std::int64_t, std::string, std::vector<std::string>>;

// The text with these keys at its top, in place of those that it has. Comments and the order of keys are
// lost. `path` is used in messages. Errors: those of ConfigFile::Parse.
absl::StatusOr<std::string> WithTopValues(std::string_view text, std::string_view path,
                                          const std::map<std::string, TopValue>& values);

}  // namespace tributary::config
