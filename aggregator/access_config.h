// What the aggregator's configuration says of access: [access], and [[site.owner]] of each site.
#pragma once

#include <string>
#include <vector>

#include "aggregator/access/access_policy.h"
#include "core/config/config.h"

namespace tributary::aggregator {

// `tls`: whether names are known at all. Without, a list of names is a fault.
access::AccessLists ReadAccess(const config::ConfigSection& root, bool tls);

// The owners of a site's leaf sources.
std::vector<access::SourceOwner> ReadOwners(const config::ConfigSection& site,
                                            const std::vector<std::string>& leaves, bool tls);

}  // namespace tributary::aggregator
