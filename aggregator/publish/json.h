// A site as JSON for the HTTP interface. Slots and nodes: core/wire/record_json.h.
#pragma once

#include <nlohmann/json.hpp>

#include "aggregator/fusion/engine.h"

namespace tributary::publish {

// Configuration (slot_ns: the length of its slots, so that epoch · slot_ns is a slot's start), counters,
// sources and leaves.
nlohmann::ordered_json SiteJson(const fusion::FusionEngine& engine);

}  // namespace tributary::publish
