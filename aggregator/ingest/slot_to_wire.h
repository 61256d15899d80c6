// Fused slots, onto the wire.
#pragma once

#include "aggregator/fusion/fused_slot.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary {

// Overwrites `wire` and keeps its memory.
void SlotToWire(const FusedSlot& slot, v1::FusedSlot& wire);

}  // namespace tributary
