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
  double rate_hz = 2000.0;          // of frames: see estimate::SlotStride
  bool loop = false;                // else OutOfRange after the last slot
  std::uint32_t first_subject = 1;  // subjects are numbered from here
  estimate::SlotLength slot{};      // what epochs count
};

// Plays [slots × subjects × width], or [slots × width] with one subject, paced by SlotPace. With `loop` the
// slot depends on the epoch alone, so panels with recordings of equal length stay in step. `clock` outlives
// the source. Errors: InvalidArgument for another number of dimensions, an empty array or a rate out of
// range.
absl::StatusOr<std::unique_ptr<Source>> CreateReplay(parameters::NpyArray recording,
                                                     const ReplayOptions& options,
                                                     const runtime::Clock& clock);

}  // namespace tributary::source
