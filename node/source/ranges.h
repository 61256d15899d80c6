// Recorded ranges as a source: one board's anchors and tags, at the recorded pace.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"
#include "core/runtime/clock.h"
#include "core/scene/recording.h"
#include "node/source/source.h"

namespace tributary::source {

struct RangesSourceOptions {
  std::vector<int> anchors = {};  // distinct, of the recording
  int tag = 0;                    // the subject
  std::vector<int> tags = {};     // whose ranges are the features; empty: those of `tag` alone
  bool complete = true;           // false: also rows that lack some ranges, as NaN
  // The part of the recording that is played, by time: 0 ≤ start < end ≤ 1.
  double start_fraction = 0.0;
  double end_fraction = 1.0;
  double speed = 1.0;              // times real time; 0: as fast as it is read
  std::int64_t start_unix_ns = 0;  // when the first row is due; 0: at the first Next
  estimate::SlotLength slot{};     // what epochs count
};

// Each frame has one subject and, as features, the ranges in m: for each anchor, those to all tags. Rows that
// lack one of them (or all, if `complete` is false) are missed frames. The epoch comes from the recording's
// own time stamp, so boards that play the same recording agree; rows closer than a slot share one. The
// capture time is the clock's, which outlives the source. Errors: InvalidArgument, "OPTION: what is allowed".
absl::StatusOr<std::unique_ptr<Source>> CreateRanges(scene::RangeRecording recording,
                                                     const RangesSourceOptions& options,
                                                     const runtime::Clock& clock);

}  // namespace tributary::source
