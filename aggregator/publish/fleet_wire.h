// Converts a node's record to the protocol.
#pragma once

#include "aggregator/publish/known_nodes.h"
#include "tributary/v1/fleet.pb.h"

namespace tributary::publish {

v1::Node NodeToWire(const KnownNode& known);

}  // namespace tributary::publish
