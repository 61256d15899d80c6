// Recorded ranges as a source: one board's three anchors and one tag, at the recorded pace.
#pragma once

#include <array>
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
  std::array<int, 3> anchors = {};  // distinct, 0…7
  int tag = 0;                      // 0…2; also the subject
  // The part of the recording that is played, by time: 0 ≤ start < end ≤ 1.
  double start_fraction = 0.0;
  double end_fraction = 1.0;
  double speed = 1.0;              // times real time; 0: as fast as it is read
  std::int64_t start_unix_ns = 0;  // when the first row is due; 0: at the first Next
  estimate::SlotLength slot{};     // what epochs count
};

// Each frame has one subject and three features: ranges in m. Rows without one of the three are missed
// frames. The epoch comes from the recording's own time stamp, so boards that play the same recording agree;
// rows closer than a slot share one. The capture time is the clock's, which outlives the source. Errors:
// InvalidArgument, "OPTION: what is allowed".
absl::StatusOr<std::unique_ptr<Source>> CreateRanges(std::vector<scene::RangeRow> rows,
                                                     const RangesSourceOptions& options,
                                                     const runtime::Clock& clock);

// Index of the first row at or after the given fraction of the recording's time, rows.size() for 1.
std::size_t RowAtFraction(const std::vector<scene::RangeRow>& rows, double fraction);

}  // namespace tributary::source
