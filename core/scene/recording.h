// Recorded ranges of anchors to tags, and recorded motion capture: the true positions for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/scene/survey.h"

namespace tributary::scene {

// Rows of ranges. Immutable after parsing; any thread may read.
class RangeRecording {
 public:
  RangeRecording(std::size_t anchors, std::size_t tags) : anchors_(anchors), tags_(tags) {}

  std::size_t size() const { return unix_ns_.size(); }
  std::size_t anchors() const { return anchors_; }
  std::size_t tags() const { return tags_; }
  std::int64_t unix_ns(std::size_t row) const { return unix_ns_[row]; }
  // In m; NaN where the recording has none.
  float Range(std::size_t row, std::size_t anchor, std::size_t tag) const {
    return range_m_[(row * anchors_ + anchor) * tags_ + tag];
  }
  // Index of the first row at or after the given fraction of the recording's time; size() for 1.
  std::size_t RowAtFraction(double fraction) const;

  // Appends a row without ranges, not before the last one.
  void AddRow(std::int64_t unix_ns);
  // Sets a range of the last row.
  void SetRange(std::size_t anchor, std::size_t tag, float range_m) {
    range_m_[((size() - 1) * anchors_ + anchor) * tags_ + tag] = range_m;
  }

 private:
  std::size_t anchors_;
  std::size_t tags_;
  std::vector<std::int64_t> unix_ns_;
  std::vector<float> range_m_;
};

// Rows of time and the survey's ranges (a0-t0, a0-t1 … in its order and unit), no header. Empty lines are
// skipped; an empty field is a missing range. Time must not run backwards. Errors: InvalidArgument, naming
// line and column.
absl::StatusOr<RangeRecording> ParseRanges(std::string_view csv, const Survey& survey);

// Immutable; any thread may call.
//
// The orientation columns are a rotation from the motion capture's body frame to the site's; the survey gives
// their order. The tags' body frame may be turned within the motion capture's (Survey::turn): in the "lias"
// recordings by half a turn about x, as their ranges show (decision 4).
class MotionCapture {
 public:
  // Rows of time, x, y, z (in the survey's unit) and four components of a unit quaternion. Skips empty lines
  // and a first line that begins with "time". Time must not run backwards. Errors: InvalidArgument, naming
  // line and column.
  static absl::StatusOr<MotionCapture> Parse(std::string_view csv, const Survey& survey);

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

  explicit MotionCapture(const Rotation& turn) : turn_(turn) {}
  Point3 Place(const Pose& pose, const Point3& body_point) const;

  Rotation turn_;
  std::vector<Pose> poses_;
};

// Parses "2022-08-15 9:42:24.766" as UTC, to nanoseconds since the Unix epoch. nullopt for anything else, and
// for times that have no such number.
std::optional<std::int64_t> ParseRecordingTime(std::string_view text);

}  // namespace tributary::scene
