// What a panel of the simulated room receives from its users. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>

#include "core/scene/room.h"

namespace tributary::scene {

// Without noise. `user` is in the panel's frame. Features: 512 real parts, antenna-major and
// subcarrier-minor, then 512 imaginary parts, in units of the line of sight's amplitude at 5 m. The phase is
// the carrier's at the antennas, not aligned.
void ComputeRoomChannel(RoomPosition user, std::span<float, kChannelFeatures> features);

// Labelled examples by index, for training and evaluation. Users are spread uniformly over the room
// (kWallMarginM from the walls). The same (seed, index) is the same user for every wall, with independent
// noise. Different seeds give independent sets.
struct RoomExamples {
  std::uint64_t seed;

  // In the site's frame.
  RoomPosition User(std::uint64_t index) const;

  // Raw, noisy features (phase not aligned) of that user at the panel on `wall`.
  void Sense(std::uint64_t index, Wall wall, std::span<float, kChannelFeatures> features) const;
};

}  // namespace tributary::scene
