// How a node declares itself to its aggregator.
#pragma once

#include "node/config.h"
#include "node/panel/panel_factory.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::node {

// `model`: the one that its panels run.
v1::Hello HelloOf(const NodeConfig& config, const panel::Model& model);

}  // namespace tributary::node
