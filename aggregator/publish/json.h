// What the HTTP interface shows, as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "aggregator/fusion/engine.h"
#include "aggregator/publish/known_nodes.h"
#include "core/estimate/fused_slot.h"

namespace tributary {

// Positions (m), covariance (m², rows of the lower triangle), contributors by name, consistency, velocities
// if tracked.
nlohmann::json SlotJson(const FusedSlot& slot, const SiteConfig& site);

// Configuration (slot_ns: the length of its slots, so that epoch · slot_ns is a slot's start), counters,
// sources and leaves.
nlohmann::json SiteJson(const FusionEngine& engine);

nlohmann::json NodeJson(const KnownNode& known);

// Invalid UTF-8 in names of peers is replaced.
std::string Dump(const nlohmann::json& value);

}  // namespace tributary
