// One fused slot, as a subscriber receives it.
#pragma once

#include <cstdint>

#include "core/estimate/fused_slot.h"
#include "core/estimate/slot_length.h"

namespace tributary::wire {

struct WatchedSlot : estimate::FusedSlot {
  std::uint64_t skipped_slots = 0;  // missed since the previous one
  estimate::SlotLength length;      // what the site's epochs count
};

}  // namespace tributary::wire
