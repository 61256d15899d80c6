// One antenna panel of the simulated room, live.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"
#include "core/runtime/clock.h"
#include "core/scene/room.h"
#include "node/source/slot_pace.h"
#include "node/source/source.h"

namespace tributary::source {

// Owns a pool of noise and the noise-free channel of every user at every snapshot, computed at the start
// (int16, 2 KiB per user and snapshot: 64 MB by default). A slot is one snapshot plus noise from random
// places of the pool.
//
// Paced by SlotPace: panels that share the wall clock give equal epochs equal users. Owned by one thread.
class RoomSource final : public Source {
 public:
  struct Options {
    scene::Wall wall = scene::Wall::kSouth;
    std::uint32_t subjects = 16;  // numbered from 1
    double rate_hz = 2000;        // of frames: see SlotStride
    scene::RoomMotion motion;     // its seed also seeds the noise
    estimate::SlotLength slot{};  // what epochs count
  };

  static constexpr std::size_t kMaxSnapshotBytes = 256u << 20;  // the limit

  // `clock` outlives the source. Errors: InvalidArgument, "OPTION: what is allowed".
  static absl::StatusOr<std::unique_ptr<RoomSource>> Create(const Options& options,
                                                            const runtime::Clock& clock);

  // Features are in units of the line of sight's amplitude at 5 m; the capture time is the start of the slot.
  absl::Status Next(std::stop_token stop, SensorFrame& frame) override;

  std::uint64_t missed_frames() const override { return pace_.missed_frames(); }

  // The panel's features in one slot: depends only on the options and the epoch.
  void Sense(estimate::Epoch epoch, SensorFrame& frame) const;

 private:
  RoomSource(const Options& options, SlotPace pace);
  void ComputeSnapshots();
  void FillNoisePool();

  const Options options_;
  SlotPace pace_;
  std::vector<std::int16_t> snapshots_;  // [snapshots × subjects × 1024], units of kFeatureStep
  std::vector<std::int16_t> noise_;
};

}  // namespace tributary::source
