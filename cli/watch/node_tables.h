// The nodes that an aggregator knows, as `tributary status` shows them.
#pragma once

#include <cstdint>
#include <string>

#include "tributary/v1/fleet.pb.h"

namespace tributary::cli {

// Those that report to a site. `now_unix_ns`: the age of a frame counts to it.
std::string NodesText(const v1::ListNodesResponse& response, std::int64_t now_unix_ns);

// What those that report say of themselves, behind an empty line; empty if none does: older nodes.
std::string ConditionsText(const v1::ListNodesResponse& response, std::int64_t now_unix_ns);

// Those that learn, behind an empty line; empty if none does.
std::string LearnersText(const v1::ListNodesResponse& response);

}  // namespace tributary::cli
