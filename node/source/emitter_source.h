// Simulated emitters, as one of several receivers hears them.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"
#include "core/radio/burst_generator.h"
#include "core/radio/emitter.h"
#include "core/runtime/clock.h"
#include "node/source/source.h"

namespace tributary::source {

struct EmitterSourceOptions {
  std::uint32_t subjects = 1;       // emitters
  std::uint32_t first_subject = 1;  // the number of the first emitter's subject; emitters are numbered from 1
  std::uint32_t receiver = 0;       // picks the channels and the noise
  double rate_hz = 2000;            // of frames: see estimate::SlotStride
  radio::EmitterOptions emitter;
  radio::BurstOptions burst = radio::ReferenceDomain();
  estimate::SlotLength slot{};  // what epochs count
};

// Each frame has one burst of every emitter: kBurstFeatures features, normalised. A burst takes some 30 µs of
// a processor. It depends only on the options and the epoch: receivers with the same seed and rate hear the
// same emissions, each through channels of its own. The capture time is the start of the slot. Paced by
// SlotPace. `clock` outlives the source. Errors: InvalidArgument, "OPTION: what is allowed".
absl::StatusOr<std::unique_ptr<Source>> CreateEmitters(const EmitterSourceOptions& options,
                                                       const runtime::Clock& clock);

}  // namespace tributary::source
