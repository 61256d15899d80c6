// The answer to a peer that asks for a site which this aggregator does not have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace tributary::publish {

// NotFound; names the sites that there are, so that the next attempt can be right.
absl::Status UnknownSite(std::string_view name, const std::vector<std::string>& known);

}  // namespace tributary::publish
