// Reads a text as a daemon reads its configuration.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "core/config/config.h"
#include "core/status/macros.h"

namespace tributary::testing {

// `read` is a daemon's reader. Errors: InvalidArgument with one line per fault.
template <typename Config>
absl::StatusOr<Config> ParseConfig(Config (*read)(const config::ConfigFile&), std::string_view text,
                                   std::string_view path) {
  ASSIGN_OR_RETURN(const config::ConfigFile file, config::ConfigFile::Parse(text, path));
  Config config = read(file);
  RETURN_IF_ERROR(file.Finish());
  return config;
}

}  // namespace tributary::testing
