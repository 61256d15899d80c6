// What is told of a site.
#pragma once

#include "aggregator/fusion/engine.h"
#include "tributary/v1/fleet.pb.h"

namespace tributary::publish {

v1::Site SiteMessage(const fusion::FusionEngine& engine);

}  // namespace tributary::publish
