// How the users of the simulated room walk: a pure function of the seed, so that the true positions are
// known.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/scene/room.h"

namespace tributary::scene {

// Each user follows a closed curve that covers the room evenly (as the training set does), at about 1 m/s on
// average. Positions change once per snapshot, whatever the site's slots. All curves close after `snapshots`
// snapshots.
struct RoomMotion {
  std::uint64_t seed = 1;
  std::uint32_t snapshots = 2000;

  static constexpr std::int64_t kSnapshotNs = 16'000'000;  // about 1.6 cm of movement

  // The snapshot of a time, below `snapshots`.
  std::uint32_t SnapshotAt(std::int64_t unix_ns) const {
    return static_cast<std::uint32_t>(std::max<std::int64_t>(unix_ns, 0) / kSnapshotNs % snapshots);
  }

  // In the site's frame.
  RoomPosition AtSnapshot(std::uint32_t subject, std::uint32_t snapshot) const;
  RoomPosition At(std::uint32_t subject, std::int64_t unix_ns) const {
    return AtSnapshot(subject, SnapshotAt(unix_ns));
  }
};

}  // namespace tributary::scene
