// Who may write a file that gives power over the aggregator.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tributary::config {

// FailedPrecondition, with what to do: anybody may write the file or its folder, or the file belongs to
// somebody else than root, this user and the folder's owner. `power`: what that user could do, as "make
// tokens". OK for a file that is not there.
absl::Status CheckWriters(const std::string& path, std::string_view power);

}  // namespace tributary::config
