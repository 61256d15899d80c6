// How many slots lie between two frames of a source.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"

namespace tributary::estimate {

// One frame a slot, at most 2000 a second.
double DefaultRateHz(SlotLength slot);

// Slots from one frame to the next; a frame's epoch is a multiple of it. InvalidArgument, naming rate_hz: the
// rate is not that of the slots divided by a whole number, to within a ten-thousandth, or a frame is more
// than kMaxStride slots from the next. A higher rate would put two frames into one slot.
absl::StatusOr<std::uint64_t> SlotStride(double rate_hz, SlotLength slot);

inline constexpr std::uint64_t kMaxStride = 1'000'000;

}  // namespace tributary::estimate
