// The plan of a site in the configuration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "tributary/v1/site.pb.h"

namespace tributary::aggregator {

// Reads [site.room] of a [[site]] with these sources; nothing if there is no such table. Records faults. The
// plan names no site.
std::optional<v1::Room> ReadRoom(const config::ConfigSection& site, const std::vector<std::string>& sources);

}  // namespace tributary::aggregator
