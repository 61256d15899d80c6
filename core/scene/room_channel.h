// What a panel of the simulated room receives from one user, without noise. Pure; any thread.
#pragma once

#include <span>

#include "core/scene/room.h"

namespace tributary::scene {

// `user` is in the panel's frame. Features: 512 real parts, antenna-major and subcarrier-minor, then 512
// imaginary parts, in units of the line of sight's amplitude at 5 m. The phase is the carrier's at the
// antennas, not aligned.
void ComputeRoomChannel(RoomPosition user, std::span<float, kChannelFeatures> features);

}  // namespace tributary::scene
