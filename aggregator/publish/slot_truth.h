// The truth of a site's subjects beside its slots, where the configuration says how they are simulated.
#pragma once

#include "core/estimate/slot_length.h"
#include "core/truth/truth.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::publish {

// Sets `truth` of a response that has its slot and its description. Not for a thread that fuses: a subject of
// the simulated room costs as much as fusing it.
void AddTruth(const truth::Truth& truth, estimate::SlotLength slot, v1::WatchResponse& response);

}  // namespace tributary::publish
