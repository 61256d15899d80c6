// The answer to a request for an unknown site.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace tributary::publish {

// NotFound; names the known sites.
absl::Status UnknownSite(std::string_view name, const std::vector<std::string>& known);

}  // namespace tributary::publish
