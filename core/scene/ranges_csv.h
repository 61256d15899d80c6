// Recorded UWB ranges of 8 anchors to 3 tags.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::scene {

inline constexpr int kAnchors = 8;
inline constexpr int kTags = 3;

// Site frame, m. From the README of the "lias" dynamic recordings (MIT licence).
using Point3 = std::array<double, 3>;
inline constexpr std::array<Point3, kAnchors> kAnchorPositionsM = {{{-3.4203, 3.0053, 1.0442},
                                                                    {0.0016, 3.0110, 1.0446},
                                                                    {3.6056, 2.9795, 1.0463},
                                                                    {3.6011, -0.0008, 1.0422},
                                                                    {3.5674, -3.0087, 1.0443},
                                                                    {-0.0072, -2.9652, 1.0444},
                                                                    {-3.4673, -2.9587, 1.0445},
                                                                    {-3.4858, -0.0098, 1.0457}}};

struct RangeRow {
  std::int64_t unix_ns;
  std::array<float, kAnchors * kTags> range_m;  // anchor-major, tag-minor; NaN where the recording has none

  float Range(std::size_t anchor, std::size_t tag) const { return range_m[anchor * kTags + tag]; }
};

// Rows of time and 24 ranges (a0-t0, a0-t1, a0-t2, a1-t0 …), no header. Empty lines are skipped; an empty
// field is a missing range. Time must not run backwards. Errors: InvalidArgument, naming line and column.
absl::StatusOr<std::vector<RangeRow>> ParseRanges(std::string_view csv);

}  // namespace tributary::scene
