// Which program a configuration file is for.
#pragma once

#include "absl/status/status.h"
#include "core/config/config.h"

namespace tributary::config {

enum class Program { kNode, kAggregator, kRun };

// InvalidArgument if the keys at the top of the file are those of another program than `reader`, with its
// name: a list of unknown keys would not tell what is wrong. OK if some are the reader's own, or none tells.
absl::Status CheckProgram(const ConfigFile& file, Program reader);

}  // namespace tributary::config
