// How the users of the simulated room walk: a pure function, so that whoever knows the seed knows the truth.
#pragma once

#include <cstdint>

#include "core/estimate/epoch.h"
#include "node/source/room.h"

namespace tributary {

// Each user follows a closed curve that covers the room evenly (as the training set does), at about 1 m/s on
// average. Positions change once per snapshot; all curves close after `snapshots` of them.
struct RoomMotion {
  std::uint64_t seed = 1;
  std::uint32_t snapshots = 2000;
  std::uint32_t slots_per_snapshot = 32;  // 16 ms, about 1.6 cm of way

  // Snapshot that a slot falls into, below `snapshots`.
  std::uint32_t SnapshotAt(Epoch epoch) const {
    return static_cast<std::uint32_t>(epoch / slots_per_snapshot % snapshots);
  }

  // In the site's frame.
  RoomPosition AtSnapshot(std::uint32_t subject, std::uint32_t snapshot) const;
  RoomPosition At(std::uint32_t subject, Epoch epoch) const { return AtSnapshot(subject, SnapshotAt(epoch)); }
};

}  // namespace tributary
