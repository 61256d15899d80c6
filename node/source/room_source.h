// One antenna panel of the simulated room, live.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"
#include "core/runtime/clock.h"
#include "core/scene/room.h"
#include "node/source/source.h"

namespace tributary::source {

struct RoomSourceOptions {
  scene::Wall wall = scene::Wall::kSouth;
  std::uint32_t subjects = 16;  // numbered from 1
  double rate_hz = 2000;        // of frames: see estimate::SlotStride
  scene::RoomMotion motion;     // its seed also seeds the noise
  estimate::SlotLength slot{};  // what epochs count
};

// Computes the noise-free channel of every user at every snapshot at the start (int16, 2 KiB per user and
// snapshot: 64 MB by default, 256 MB at most). A slot is one snapshot plus noise from random places of a
// pool, and depends only on the options and the epoch. Features are in units of the line of sight's amplitude
// at 5 m; the capture time is the start of the slot. Paced by SlotPace: panels that share the wall clock give
// equal epochs equal users. `clock` outlives the source. Errors: InvalidArgument, "OPTION: what is allowed".
absl::StatusOr<std::unique_ptr<Source>> CreateRoom(const RoomSourceOptions& options,
                                                   const runtime::Clock& clock);

}  // namespace tributary::source
