// A recording in which an anchor is moved: stretches of a recording one after the other, some of them with
// the ranges that a moved anchor would have given. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/train/beacon_recording.h"

namespace tributary::cli {

struct RecordingStretch {
  RecordingPart part;  // by time
  bool moved = false;
};

struct AnchorMove {
  int anchor = 0;
  std::array<double, 2> by_m = {};  // x, y
};

struct MovedRecording {
  struct Stretch {
    std::int64_t begin_unix_ns;  // of the new recording
    std::int64_t end_unix_ns;
    bool moved;
    std::size_t rows;
  };
  std::string ranges;  // CSV, as the recording's
  std::string truth;
  std::vector<Stretch> stretches;
};

// `ranges` and `truth` are the texts of `recording`. The time goes on from the recording's beginning, with
// 0.2 s between two stretches. A moved anchor adds to each range what its true distance grows by; where
// motion capture does not know the tag, the range is left out. Errors: InvalidArgument for a stretch without
// rows.
absl::StatusOr<MovedRecording> MoveAnchor(std::string_view ranges, std::string_view truth,
                                          const BeaconRecording& recording,
                                          std::span<const RecordingStretch> stretches,
                                          const AnchorMove& move);

}  // namespace tributary::cli
