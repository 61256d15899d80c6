// Labelled examples of the simulated room, by index: for training and evaluation. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>

#include "core/scene/room.h"

namespace tributary::scene {

// Users are spread uniformly over the room (kWallMarginM from the walls). The same (seed, index) is the same
// user for every wall, with independent noise. Different seeds give independent sets.
struct RoomExamples {
  std::uint64_t seed;

  // In the site's frame.
  RoomPosition User(std::uint64_t index) const;

  // Raw, noisy features (phase not aligned) of that user at the panel on `wall`.
  void Sense(std::uint64_t index, Wall wall, std::span<float, kChannelFeatures> features) const;
};

}  // namespace tributary::scene
