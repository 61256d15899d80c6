// Recorded UWB ranges of 8 anchors to 3 tags, and recorded motion capture: the true positions for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
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

// Tags on the body, m; from the README of the "lias" dynamic recordings.
inline constexpr std::array<Point3, kTags> kTagPositionsM = {
    {{-0.0689, -0.1423, 0.0011}, {-0.0750, 0.1402, 0.0016}, {0.2034, 0.1451, -0.0008}}};

// Immutable; any thread may call.
//
// The orientation columns are w, x, y, z of the rotation from the motion capture's body frame to the site's,
// as the README of the recordings says. The tags' body frame is turned by half a turn about x: tag
// coordinates (x, y, z) are (x, -y, -z) in the motion capture's frame. The recorded ranges show this. With
// the turn their residuals deviate by 0.06 to 0.09 m for every anchor and tag, and no time shift improves
// them. Without it they deviate by 0.3 m; with columns read as x, y, z, w by 0.14 m, 0.19 m for tag 2.
class MotionCapture {
 public:
  // Rows of time, x, y, z (m) and four components of a unit quaternion. Skips empty lines and a first line
  // that begins with "time". Time must not run backwards. Errors: InvalidArgument, naming line and column.
  static absl::StatusOr<MotionCapture> Parse(std::string_view csv);

  // Where a point of the tags' body frame was, linearly interpolated. nullopt outside the recording and in
  // gaps longer than 100 ms.
  std::optional<Point3> At(std::int64_t unix_ns, const Point3& body_point) const;

  std::int64_t first_unix_ns() const { return poses_.front().unix_ns; }
  std::int64_t last_unix_ns() const { return poses_.back().unix_ns; }

 private:
  struct Pose {
    std::int64_t unix_ns;
    Point3 position;
    std::array<double, 4> orientation;  // w, x, y, z
  };

  static Point3 Place(const Pose& pose, const Point3& body_point);

  std::vector<Pose> poses_;
};

// Parses "2022-08-15 9:42:24.766" as UTC, to nanoseconds since the Unix epoch. nullopt for anything else, and
// for times that have no such number.
std::optional<std::int64_t> ParseRecordingTime(std::string_view text);

}  // namespace tributary::scene
