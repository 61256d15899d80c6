// All nodes that an aggregator knows, page by page.
#pragma once

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "cli/connection.h"
#include "core/runtime/clock.h"
#include "tributary/v1/fleet.pb.h"

namespace tributary::cli {

// An honest aggregator has some 3 MB for ten thousand nodes, in pages of 1 MiB.
inline constexpr int kMostPages = 64;
inline constexpr std::chrono::seconds kPagesPatience{60};

// All pages as one answer; `site`: of this one only, empty: of all. `certificate_pem`: the aggregator's.
// Errors: those of the call; DataLoss for an aggregator whose pages do not come to an end.
absl::StatusOr<v1::ListNodesResponse> AllNodes(const ConnectionArguments& connection, const std::string& site,
                                               const runtime::Clock& clock, std::string* certificate_pem);

}  // namespace tributary::cli
