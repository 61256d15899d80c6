// How often a source gives a frame, in slots.
#pragma once

#include <cstdint>
#include <stop_token>

#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"
#include "core/runtime/clock.h"

namespace tributary::source {

// The largest lag of a slow reader before slots are left out: 0.2 s, and two frames at least.
std::uint64_t MaxLagSlots(std::uint64_t stride, estimate::SlotLength slot);

// Paces a source by the wall clock: sources that share it give frames of the same epochs, at the start of
// their slots. A slow reader gets the slots that it missed, up to MaxLagSlots; older ones are left out and
// counted. One thread's.
class SlotPace {
 public:
  // `clock` outlives it. Errors: those of estimate::SlotStride.
  static absl::StatusOr<SlotPace> Create(double rate_hz, estimate::SlotLength slot,
                                         const runtime::Clock& clock);

  // Leaves out what lags too far behind.
  void CatchUp();
  // Waits for the start of the next frame's slot. If the clock is set back meanwhile, goes on with the slot
  // that comes next by the new time. Cancelled once stop is requested.
  absl::StatusOr<estimate::Epoch> Wait(const std::stop_token& stop);

  std::uint64_t stride() const { return stride_; }
  std::uint64_t missed_frames() const { return missed_frames_; }

 private:
  SlotPace(std::uint64_t stride, estimate::SlotLength slot, const runtime::Clock& clock)
      : stride_(stride), slot_(slot), clock_(&clock) {}

  // The first slot of a frame after `epoch`.
  estimate::Epoch After(estimate::Epoch epoch) const;
  // Whether the clock was set back; without this, the panel would stop until the clock has caught up.
  bool FollowBack(estimate::Epoch now);

  std::uint64_t stride_;
  estimate::SlotLength slot_;
  const runtime::Clock* clock_;
  estimate::Epoch next_epoch_ = 0;  // 0: not started
  std::uint64_t missed_frames_ = 0;
};

}  // namespace tributary::source
