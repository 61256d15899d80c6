// One fused slot as a subscriber sees it.
#pragma once

#include <cstdint>

#include "core/estimate/fused_slot.h"

namespace tributary {

struct WatchedSlot : FusedSlot {
  std::uint64_t skipped_slots = 0;  // missed since the previous one
};

}  // namespace tributary
