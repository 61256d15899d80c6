// Changes to an aggregator's file of bearer tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/config/access_tokens.h"

namespace tributary::cli {

// "30d", "12h": how long, s. InvalidArgument: not that, or not 1 hour to 366 days.
absl::StatusOr<std::int64_t> ParseLifetime(const std::string& text);

// Reads the file, changes what it holds, writes it as a whole. Two commands at once take turns. A new file is
// readable by its owner only; an old one keeps its mode, and under root its owner. Errors: those of
// TokenSet::Read, of the change (nothing is written), and of WriteOutput.
absl::Status ChangeTokens(const std::string& path,
                          const std::function<absl::Status(config::TokenSet&)>& change);

}  // namespace tributary::cli
