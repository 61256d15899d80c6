// Which site a command means where none is named.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/connection.h"
#include "tributary/v1/fleet.pb.h"

namespace tributary::cli {

// The only site of the aggregator. UsageError: it has several, which are named, or none is known. An
// aggregator that does not tell its sites (an older one) is judged by the sites of its nodes.
absl::StatusOr<std::string> OnlySite(const v1::ListNodesResponse& nodes);

// The same, asked of the aggregator. Errors: those of CallAggregator too.
absl::StatusOr<std::string> AskOnlySite(const ConnectionArguments& connection);

}  // namespace tributary::cli
