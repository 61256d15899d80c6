// Where a site's frames and tuples went: one account instead of a dozen counters.
#pragma once

#include "aggregator/publish/fleet.h"
#include "aggregator/publish/site.h"
#include "tributary/v1/site.pb.h"

namespace tributary::publish {

// The counters move while they are read: an item on its way from one to another may be missing or twice for a
// moment.
v1::SiteFlow FlowOf(const Site& site, const Fleet& fleet);

}  // namespace tributary::publish
