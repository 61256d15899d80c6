// How often a source gives a frame, in slots.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"

namespace tributary::source {

// One frame a slot, at most 2000 a second.
double DefaultRateHz(estimate::SlotLength slot);

// Slots from one frame to the next. InvalidArgument, naming rate_hz: the rate is not that of the slots
// divided by a whole number, to within a ten-thousandth, or a frame is more than kMaxStride slots from the
// next. A higher rate would put two frames into one slot.
absl::StatusOr<std::uint64_t> SlotStride(double rate_hz, estimate::SlotLength slot);

inline constexpr std::uint64_t kMaxStride = 1'000'000;

// The largest lag of a slow reader before slots are left out: 0.2 s, and two frames at least.
std::uint64_t MaxLagSlots(std::uint64_t stride, estimate::SlotLength slot);

}  // namespace tributary::source
