// The JSON of what aggregators tell of slots and nodes, for everything that prints it: HTTP, events,
// commands. docs/api.md has every key.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/estimate/fused_slot.h"
#include "core/estimate/slot_length.h"
#include "tributary/v1/fleet.pb.h"

namespace tributary::wire {

// A time in nanoseconds or an epoch: a decimal string, as in protobuf's JSON mapping, because readers keep
// numbers in doubles. Counts stay numbers.
inline std::string Exact(std::int64_t value) { return std::to_string(value); }
inline std::string Exact(std::uint64_t value) { return std::to_string(value); }

// `leaves`: names for the bits of the contributors. `length` turns the epoch into a time.
nlohmann::ordered_json SlotJson(const estimate::FusedSlot& slot, estimate::SlotLength length,
                                const std::string& site, const std::vector<std::string>& leaves);

nlohmann::ordered_json NodeJson(const v1::Node& node);

// One line. Invalid UTF-8 in names of peers is replaced.
std::string DumpJson(const nlohmann::ordered_json& value);

}  // namespace tributary::wire
