// The pilot slot: 0.5 ms, counted since the Unix epoch ([LIS], section 2.1).
#pragma once

#include <cstdint>

namespace tributary {

using Epoch = std::uint64_t;

inline constexpr std::int64_t kSlotNs = 500'000;

constexpr Epoch EpochAt(std::int64_t unix_ns) { return static_cast<Epoch>(unix_ns / kSlotNs); }
constexpr std::int64_t EpochStartNs(Epoch epoch) { return static_cast<std::int64_t>(epoch) * kSlotNs; }

}  // namespace tributary
