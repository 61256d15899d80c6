// Recorded features from a .npy file, at a given rate.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"
#include "core/parameters/npy.h"
#include "core/runtime/clock.h"
#include "node/source/source.h"

namespace tributary::source {

struct ReplayOptions {
  double rate_hz = 2000.0;          // of frames: see SlotStride
  bool loop = false;                // else OutOfRange after the last slot
  std::uint32_t first_subject = 1;  // subjects are numbered from here
  estimate::SlotLength slot;        // what epochs count
};

// Plays [slots × subjects × width], or [slots × width] with one subject. Paced by the wall clock. With `loop`
// the slot depends on the epoch alone, so panels with recordings of equal length stay in step. A slow reader
// gets the slots that it missed, up to MaxLagSlots; older ones are left out and counted. Owned by one thread.
class ReplaySource final : public Source {
 public:
  // `clock` outlives the source. Errors: InvalidArgument for another number of dimensions, an empty array or
  // a rate out of range.
  static absl::StatusOr<std::unique_ptr<ReplaySource>> Create(parameters::NpyArray recording,
                                                              const ReplayOptions& options,
                                                              const runtime::Clock& clock);

  std::size_t width() const override { return width_; }
  absl::Status Next(std::stop_token stop, SensorFrame& frame) override;
  std::uint64_t missed_frames() const override { return missed_frames_; }

 private:
  ReplaySource(parameters::NpyArray recording, const ReplayOptions& options, const runtime::Clock& clock);

  const parameters::NpyArray recording_;
  const ReplayOptions options_;
  const runtime::Clock& clock_;
  const std::uint64_t stride_;  // epochs from one frame to the next
  const std::size_t slots_;
  const std::size_t subjects_;
  const std::size_t width_;
  estimate::Epoch next_epoch_ = 0;  // 0: not started
  std::uint64_t played_ = 0;        // slots, with those missed
  std::uint64_t missed_frames_ = 0;
};

}  // namespace tributary::source
