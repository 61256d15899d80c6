// Logging for the daemons: spdlog to standard error, with journald's level prefixes where systemd reads it.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace tributary::runtime {

// Sets up the default logger. `level`: debug, info, warn, error. Call it again (SIGHUP) to change the level.
// Errors: InvalidArgument for another level.
absl::Status SetUpLog(std::string_view level);

}  // namespace tributary::runtime
