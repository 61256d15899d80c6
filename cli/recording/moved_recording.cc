#include "cli/recording/moved_recording.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"

namespace tributary::cli {
namespace {

constexpr std::int64_t kGapNs = 200'000'000;  // longer than what motion capture is interpolated over
constexpr std::int64_t kSecondNs = 1'000'000'000;

// Lines with a time in their first field, in its order.
struct TimedLine {
  std::int64_t unix_ns;
  std::string_view rest;  // behind the first field, with its comma
};

std::vector<TimedLine> TimedLines(std::string_view text) {
  std::vector<TimedLine> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t comma = std::min(line.find(','), line.size());
    // Empty lines and a heading have none.
    if (const auto time = scene::ParseRecordingTime(line.substr(0, comma))) {
      lines.push_back({*time, line.substr(comma)});
    }
  }
  return lines;
}

std::string TimeText(std::int64_t unix_ns) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03}", fmt::gmtime(unix_ns / kSecondNs),
                     unix_ns % kSecondNs / 1'000'000);
}

double Distance(const scene::Point3& a, const scene::Point3& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

// The row's ranges as its file has them.
std::string RangesText(const BeaconRecording& recording, std::size_t row, const AnchorMove* move) {
  const scene::Survey& survey = recording.survey;
  std::vector<std::string> fields(survey.ranges());
  for (std::size_t anchor = 0; anchor < survey.anchors_m.size(); ++anchor) {
    for (std::size_t tag = 0; tag < survey.tags_m.size(); ++tag) {
      double range_m = recording.ranges.Range(row, anchor, tag);
      if (move != nullptr && anchor == static_cast<std::size_t>(move->anchor)) {
        const auto at = recording.motion.At(recording.ranges.unix_ns(row), survey.tags_m[tag]);
        if (!at) continue;
        const scene::Point3& before = survey.anchors_m[anchor];
        const scene::Point3 after = {before[0] + move->by_m[0], before[1] + move->by_m[1], before[2]};
        range_m = std::max(0.0, range_m + Distance(after, *at) - Distance(before, *at));
      }
      if (std::isfinite(range_m))
        fields[survey.Column(anchor, tag)] = fmt::format("{:.4f}", range_m / survey.range_unit_m);
    }
  }
  return fmt::format("{}", fmt::join(fields, ","));
}

}  // namespace

absl::StatusOr<MovedRecording> MoveAnchor(std::string_view ranges, std::string_view truth,
                                          const BeaconRecording& recording,
                                          std::span<const RecordingStretch> stretches,
                                          const AnchorMove& move) {
  const std::vector<TimedLine> rows = TimedLines(ranges);
  const std::vector<TimedLine> poses = TimedLines(truth);
  if (rows.size() != recording.ranges.size()) {
    return absl::InvalidArgumentError("the ranges are not those of the recording");
  }
  MovedRecording made;
  std::int64_t next_ns = recording.ranges.unix_ns(0);
  for (const RecordingStretch& stretch : stretches) {
    const std::size_t first = recording.ranges.RowAtFraction(stretch.part.start);
    const std::size_t end = recording.ranges.RowAtFraction(stretch.part.end);
    if (first >= end) {
      return absl::InvalidArgumentError(fmt::format("no rows between {} and {} of the recording's time",
                                                    stretch.part.start, stretch.part.end));
    }
    const std::int64_t begin_ns = rows[first].unix_ns;
    const std::int64_t end_ns = rows[end - 1].unix_ns;
    const std::int64_t shift_ns = next_ns - begin_ns;
    for (std::size_t row = first; row < end; ++row) {
      made.ranges += fmt::format("{},{}\n", TimeText(rows[row].unix_ns + shift_ns),
                                 RangesText(recording, row, stretch.moved ? &move : nullptr));
    }
    for (const TimedLine& pose : poses) {
      if (pose.unix_ns < begin_ns || pose.unix_ns > end_ns) continue;
      made.truth += fmt::format("{}{}\n", TimeText(pose.unix_ns + shift_ns), pose.rest);
    }
    made.stretches.push_back({next_ns, end_ns + shift_ns, stretch.moved, end - first});
    next_ns = end_ns + shift_ns + kGapNs;
  }
  return made;
}

}  // namespace tributary::cli
