#include "core/scene/ranges_motion.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/scene/recording_csv.h"

namespace tributary::scene {
namespace {

constexpr std::size_t kFields = 8;
constexpr std::array<std::string_view, kFields> kNames = {"time", "x", "y", "z", "q_w", "q_x", "q_y", "q_z"};
constexpr std::int64_t kLongestGapNs = 100'000'000;
constexpr double kNormTolerance = 1e-3;  // tolerance for a quaternion written with nine decimals

}  // namespace

absl::StatusOr<MotionCapture> MotionCapture::Parse(std::string_view csv) {
  MotionCapture capture;
  for (std::size_t number = 1; !csv.empty(); ++number) {
    const std::string_view line = TakeLine(csv);
    if (line.empty() || (number == 1 && line.starts_with("time"))) continue;
    const std::vector<std::string_view> fields = SplitFields(line);
    if (fields.size() != kFields) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": expected ", kFields, " fields, found ", fields.size()));
    }
    const auto time = ParseRecordingTime(fields[0]);
    if (!time) return FieldError(number, 1, kNames[0], "a time as 2022-08-15 9:42:24.766", fields[0]);
    if (!capture.poses_.empty() && *time < capture.poses_.back().unix_ns) {
      return FieldError(number, 1, kNames[0], "a time not before the previous line's", fields[0]);
    }
    std::array<double, kFields - 1> values;
    double norm = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = ParseNumber(fields[i + 1]);
      if (!value) return FieldError(number, i + 2, kNames[i + 1], "a number", fields[i + 1]);
      values[i] = *value;
      if (i >= 3) norm += values[i] * values[i];
    }
    if (!(std::abs(norm - 1.0) <= kNormTolerance)) {
      return FieldError(number, 5, kNames[4], "the first of a unit quaternion", fields[4]);
    }
    capture.poses_.push_back({.unix_ns = *time,
                              .position = {values[0], values[1], values[2]},
                              .orientation = {values[3], values[4], values[5], values[6]}});
  }
  if (capture.poses_.empty()) return absl::InvalidArgumentError("no line with a pose");
  return capture;
}

Point3 MotionCapture::Place(const Pose& pose, const Point3& body_point) {
  const auto [w, x, y, z] = pose.orientation;
  const Point3 p = {body_point[0], -body_point[1], -body_point[2]};
  // p + 2·(w·(v × p) + v × (v × p)) with the quaternion's vector part v.
  const Point3 t = {2 * (y * p[2] - z * p[1]), 2 * (z * p[0] - x * p[2]), 2 * (x * p[1] - y * p[0])};
  return {pose.position[0] + p[0] + w * t[0] + y * t[2] - z * t[1],
          pose.position[1] + p[1] + w * t[1] + z * t[0] - x * t[2],
          pose.position[2] + p[2] + w * t[2] + x * t[1] - y * t[0]};
}

std::optional<Point3> MotionCapture::At(std::int64_t unix_ns, const Point3& body_point) const {
  const auto after =
      std::lower_bound(poses_.begin(), poses_.end(), unix_ns,
                       [](const Pose& pose, std::int64_t time) { return pose.unix_ns < time; });
  if (after == poses_.end()) return std::nullopt;
  const Point3 end = Place(*after, body_point);
  if (after->unix_ns == unix_ns) return end;
  if (after == poses_.begin()) return std::nullopt;
  const auto before = after - 1;
  const std::int64_t gap_ns = after->unix_ns - before->unix_ns;
  if (gap_ns > kLongestGapNs) return std::nullopt;
  const Point3 start = Place(*before, body_point);
  const double fraction = static_cast<double>(unix_ns - before->unix_ns) / static_cast<double>(gap_ns);
  Point3 point;
  for (std::size_t i = 0; i < point.size(); ++i) point[i] = start[i] + fraction * (end[i] - start[i]);
  return point;
}

}  // namespace tributary::scene
