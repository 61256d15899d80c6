#include "core/scene/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "core/status/macros.h"

namespace tributary::scene {
namespace {

constexpr double kMaxRangeM = 1000.0;
constexpr double kMaxCoordinateM = 1e6;

constexpr std::size_t kPoseFields = 8;
using PoseNames = std::array<std::string_view, kPoseFields>;
constexpr PoseNames kScalarFirst = {"time", "x", "y", "z", "q_w", "q_x", "q_y", "q_z"};
constexpr PoseNames kScalarLast = {"time", "x", "y", "z", "q_x", "q_y", "q_z", "q_w"};
constexpr std::int64_t kLongestGapNs = 100'000'000;
constexpr double kNormTolerance = 1e-3;  // tolerance for a quaternion written with nine decimals

// As Abseil takes it.
absl::string_view Bytes(std::string_view text) { return {text.data(), text.size()}; }

// One line at a time: the fields of a whole recording take several times its memory.
struct RecordingLine {
  std::size_t number = 0;  // from 1
  std::vector<std::string_view> fields;

  // Splits the next line; false if it is empty.
  bool Next(std::string_view text) {
    ++number;
    if (text.ends_with('\r')) text.remove_suffix(1);
    fields.clear();
    for (const absl::string_view field : absl::StrSplit(Bytes(text), ',')) {
      fields.emplace_back(field.data(), field.size());
    }
    return !text.empty();
  }

  // `column` counts from 1.
  absl::Status Fault(std::size_t column, std::string_view name, std::string_view expected) const {
    constexpr std::size_t kMaxShown = 40;  // bytes of a bad field
    const std::string shown(fields[column - 1].substr(0, kMaxShown));
    return absl::InvalidArgumentError(fmt::format("line {}, column {} ({}): expected {}, found \"{}\"",
                                                  number, column, name, expected, absl::CHexEscape(shown)));
  }
};

// A finite decimal number filling the whole field.
std::optional<double> ParseNumber(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// The first field of a line; `last`: the time of the line before.
absl::StatusOr<std::int64_t> ParseTimeAfter(std::optional<std::int64_t> last, const RecordingLine& line) {
  const std::optional<std::int64_t> time = ParseRecordingTime(line.fields[0]);
  if (!time) return line.Fault(1, "time", "a time as 2022-08-15 9:42:24.766");
  if (last && *time < *last) {
    return line.Fault(1, "time", "a time not before the previous line's");
  }
  return *time;
}

}  // namespace

std::optional<std::int64_t> ParseRecordingTime(std::string_view text) {
  // absl::ParseTime takes white space, also none, where the format has a space.
  const auto is_digit = [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); };
  if (text.empty() || !is_digit(text.front()) || !is_digit(text.back())) return std::nullopt;
  if (text.find_first_not_of("0123456789-: .") != text.npos || std::ranges::count(text, ' ') != 1) {
    return std::nullopt;
  }
  absl::Time time;
  if (!absl::ParseTime("%Y-%m-%d %H:%M:%E*S", std::string(text), absl::UTCTimeZone(), &time, nullptr)) {
    return std::nullopt;
  }
  constexpr std::int64_t kLastNs = std::numeric_limits<std::int64_t>::max();
  if (time < absl::UnixEpoch() || time > absl::FromUnixNanos(kLastNs)) return std::nullopt;
  return absl::ToUnixNanos(time);
}

std::size_t RangeRecording::RowAtFraction(double fraction) const {
  if (fraction >= 1.0 || unix_ns_.empty()) return size();
  const auto length = static_cast<double>(unix_ns_.back() - unix_ns_.front());
  const std::int64_t time = unix_ns_.front() + static_cast<std::int64_t>(fraction * length);
  return static_cast<std::size_t>(std::ranges::lower_bound(unix_ns_, time) - unix_ns_.begin());
}

void RangeRecording::AddRow(std::int64_t unix_ns) {
  unix_ns_.push_back(unix_ns);
  range_m_.resize(range_m_.size() + anchors_ * tags_, std::numeric_limits<float>::quiet_NaN());
}

absl::StatusOr<RangeRecording> ParseRanges(std::string_view csv, const Survey& survey) {
  RangeRecording recording(survey.anchors_m.size(), survey.tags_m.size());
  RecordingLine line;
  for (const absl::string_view text : absl::StrSplit(Bytes(csv), '\n')) {
    if (!line.Next({text.data(), text.size()})) continue;
    if (line.fields.size() != survey.ranges() + 1) {
      return absl::InvalidArgumentError(fmt::format(
          "line {}: expected time and {} ranges ({} anchors, {} tags), found {} fields", line.number,
          survey.ranges(), recording.anchors(), recording.tags(), line.fields.size()));
    }
    const std::size_t rows = recording.size();
    ASSIGN_OR_RETURN(
        const std::int64_t time,
        ParseTimeAfter(rows == 0 ? std::nullopt : std::optional(recording.unix_ns(rows - 1)), line));
    recording.AddRow(time);
    for (std::size_t anchor = 0; anchor < recording.anchors(); ++anchor) {
      for (std::size_t tag = 0; tag < recording.tags(); ++tag) {
        const std::size_t field = survey.Column(anchor, tag) + 1;
        if (line.fields[field].empty()) continue;
        const double range_m = ParseNumber(line.fields[field]).value_or(-1.0) * survey.range_unit_m;
        if (!(range_m >= 0.0 && range_m <= kMaxRangeM)) {
          return line.Fault(field + 1, fmt::format("a{}-t{}", anchor, tag), "a range of 0 to 1000 m");
        }
        recording.SetRange(anchor, tag, static_cast<float>(range_m));
      }
    }
  }
  if (recording.size() == 0) return absl::InvalidArgumentError("no line with ranges");
  return recording;
}

absl::StatusOr<MotionCapture> MotionCapture::Parse(std::string_view csv, const Survey& survey) {
  MotionCapture capture(survey.turn);
  const bool scalar_last = survey.quaternion == Survey::Quaternion::kXyzw;
  const PoseNames& names = scalar_last ? kScalarLast : kScalarFirst;
  std::vector<Pose>& poses = capture.poses_;
  RecordingLine line;
  for (const absl::string_view text : absl::StrSplit(Bytes(csv), '\n')) {
    if (!line.Next({text.data(), text.size()})) continue;
    if (line.number == 1 && line.fields[0].starts_with("time")) continue;
    if (line.fields.size() != kPoseFields) {
      return absl::InvalidArgumentError(
          fmt::format("line {}: expected {} fields, found {}", line.number, kPoseFields, line.fields.size()));
    }
    ASSIGN_OR_RETURN(
        const std::int64_t time,
        ParseTimeAfter(poses.empty() ? std::nullopt : std::optional(poses.back().unix_ns), line));
    std::array<double, kPoseFields - 1> values;
    double norm = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::optional<double> value = ParseNumber(line.fields[i + 1]);
      if (!value) return line.Fault(i + 2, names[i + 1], "a number");
      values[i] = *value;
      if (i >= 3) norm += values[i] * values[i];
      if (i < 3 && !(std::abs(values[i] *= survey.truth_unit_m) <= kMaxCoordinateM)) {
        return line.Fault(i + 2, names[i + 1], "a coordinate of at most 1000 km");
      }
    }
    if (!(std::abs(norm - 1.0) <= kNormTolerance)) {
      return line.Fault(5, names[4], "the first of a unit quaternion");
    }
    if (scalar_last) std::rotate(values.begin() + 3, values.end() - 1, values.end());
    poses.push_back({.unix_ns = time,
                     .position = {values[0], values[1], values[2]},
                     .orientation = {values[3], values[4], values[5], values[6]}});
  }
  if (poses.empty()) return absl::InvalidArgumentError("no line with a pose");
  return capture;
}

Point3 MotionCapture::Place(const Pose& pose, const Point3& body_point) const {
  const auto [w, x, y, z] = pose.orientation;
  Point3 p = {};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) p[i] += turn_[i][k] * body_point[k];
  }
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
