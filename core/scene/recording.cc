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

constexpr std::size_t kRanges = kAnchors * kTags;
constexpr double kMaxRangeM = 1000.0;

constexpr std::size_t kPoseFields = 8;
constexpr std::array<std::string_view, kPoseFields> kPoseNames = {"time", "x",   "y",   "z",
                                                                  "q_w",  "q_x", "q_y", "q_z"};
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

// The first field of a line that follows `rows`.
template <class Row>
absl::StatusOr<std::int64_t> ParseTimeAfter(const std::vector<Row>& rows, const RecordingLine& line) {
  const std::optional<std::int64_t> time = ParseRecordingTime(line.fields[0]);
  if (!time) return line.Fault(1, "time", "a time as 2022-08-15 9:42:24.766");
  if (!rows.empty() && *time < rows.back().unix_ns) {
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

absl::StatusOr<std::vector<RangeRow>> ParseRanges(std::string_view csv) {
  std::vector<RangeRow> rows;
  RecordingLine line;
  for (const absl::string_view text : absl::StrSplit(Bytes(csv), '\n')) {
    if (!line.Next({text.data(), text.size()})) continue;
    if (line.fields.size() != kRanges + 1) {
      return absl::InvalidArgumentError(fmt::format("line {}: expected time and {} ranges, found {} fields",
                                                    line.number, kRanges, line.fields.size()));
    }
    ASSIGN_OR_RETURN(const std::int64_t time, ParseTimeAfter(rows, line));
    RangeRow& row = rows.emplace_back(RangeRow{.unix_ns = time, .range_m = {}});
    for (std::size_t i = 0; i < kRanges; ++i) {
      if (line.fields[i + 1].empty()) {
        row.range_m[i] = std::numeric_limits<float>::quiet_NaN();
        continue;
      }
      const std::optional<double> range = ParseNumber(line.fields[i + 1]);
      if (!range || *range < 0.0 || *range > kMaxRangeM) {
        return line.Fault(i + 2, fmt::format("a{}-t{}", i / kTags, i % kTags), "a range of 0 to 1000 m");
      }
      row.range_m[i] = static_cast<float>(*range);
    }
  }
  if (rows.empty()) return absl::InvalidArgumentError("no line with ranges");
  return rows;
}

absl::StatusOr<MotionCapture> MotionCapture::Parse(std::string_view csv) {
  MotionCapture capture;
  RecordingLine line;
  for (const absl::string_view text : absl::StrSplit(Bytes(csv), '\n')) {
    if (!line.Next({text.data(), text.size()})) continue;
    if (line.number == 1 && line.fields[0].starts_with("time")) continue;
    if (line.fields.size() != kPoseFields) {
      return absl::InvalidArgumentError(
          fmt::format("line {}: expected {} fields, found {}", line.number, kPoseFields, line.fields.size()));
    }
    ASSIGN_OR_RETURN(const std::int64_t time, ParseTimeAfter(capture.poses_, line));
    std::array<double, kPoseFields - 1> values;
    double norm = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::optional<double> value = ParseNumber(line.fields[i + 1]);
      if (!value) return line.Fault(i + 2, kPoseNames[i + 1], "a number");
      values[i] = *value;
      if (i >= 3) norm += values[i] * values[i];
    }
    if (!(std::abs(norm - 1.0) <= kNormTolerance)) {
      return line.Fault(5, kPoseNames[4], "the first of a unit quaternion");
    }
    capture.poses_.push_back({.unix_ns = time,
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
