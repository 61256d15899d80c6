#include "node/source/ranges.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace tributary::source {
namespace {

absl::Status CheckOptions(const RangesSourceOptions& options) {
  for (const int anchor : options.anchors) {
    if (anchor < 0 || anchor >= scene::kAnchors) {
      return absl::InvalidArgumentError(
          absl::StrCat("anchors: ", anchor, " is not one of 0 to ", scene::kAnchors - 1));
    }
    if (std::count(options.anchors.begin(), options.anchors.end(), anchor) != 1) {
      return absl::InvalidArgumentError(absl::StrCat("anchors: ", anchor, " is named twice"));
    }
  }
  if (options.tag < 0 || options.tag >= scene::kTags) {
    return absl::InvalidArgumentError(
        absl::StrCat("tag: ", options.tag, " is not one of 0 to ", scene::kTags - 1));
  }
  if (!(options.start_fraction >= 0.0 && options.start_fraction < options.end_fraction &&
        options.end_fraction <= 1.0)) {
    return absl::InvalidArgumentError(absl::StrCat("start_fraction: the part from ", options.start_fraction,
                                                   " to ", options.end_fraction,
                                                   " of a recording: 0 <= start < end <= 1 is allowed"));
  }
  if (!(options.speed >= 0.0 && std::isfinite(options.speed))) {
    return absl::InvalidArgumentError(absl::StrCat("speed: ", options.speed, " is not 0 or more"));
  }
  return absl::OkStatus();
}

}  // namespace

std::size_t RowAtFraction(const std::vector<scene::RangeRow>& rows, double fraction) {
  if (fraction >= 1.0) return rows.size();
  const std::int64_t start = rows.front().unix_ns;
  const auto length = static_cast<double>(rows.back().unix_ns - start);
  const std::int64_t time = start + static_cast<std::int64_t>(fraction * length);
  const auto row = std::lower_bound(rows.begin(), rows.end(), time,
                                    [](const scene::RangeRow& r, std::int64_t t) { return r.unix_ns < t; });
  return static_cast<std::size_t>(row - rows.begin());
}

absl::StatusOr<std::unique_ptr<RangesSource>> RangesSource::Create(
    std::shared_ptr<const std::vector<scene::RangeRow>> rows, const RangesSourceOptions& options,
    const runtime::Clock& clock) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  if (rows == nullptr || rows->empty()) return absl::InvalidArgumentError("a recording without rows");
  const std::size_t first = RowAtFraction(*rows, options.start_fraction);
  const std::size_t end = RowAtFraction(*rows, options.end_fraction);
  return std::unique_ptr<RangesSource>(new RangesSource(std::move(rows), options, clock, first, end));
}

RangesSource::RangesSource(std::shared_ptr<const std::vector<scene::RangeRow>> rows,
                           const RangesSourceOptions& options, const runtime::Clock& clock, std::size_t first,
                           std::size_t end)
    : rows_(std::move(rows)),
      options_(options),
      clock_(clock),
      first_(first),
      end_(end),
      next_(first),
      start_unix_ns_(options.start_unix_ns) {}

absl::Status RangesSource::Next(std::stop_token stop, SensorFrame& frame) {
  for (; next_ < end_ && !Complete((*rows_)[next_]); ++next_) ++missed_frames_;
  if (stop.stop_requested()) return absl::CancelledError("stopped");
  if (next_ == end_) return absl::OutOfRangeError("end of the recording");
  const scene::RangeRow& row = (*rows_)[next_];
  if (options_.speed > 0.0) {
    if (start_unix_ns_ == 0) start_unix_ns_ = clock_.UnixNs();
    const auto recorded_ns = static_cast<double>(row.unix_ns - (*rows_)[first_].unix_ns);
    clock_.SleepUntil(start_unix_ns_ + static_cast<std::int64_t>(recorded_ns / options_.speed), stop);
    if (stop.stop_requested()) return absl::CancelledError("stopped");
  }
  ++next_;
  frame.epoch = options_.slot.EpochAt(row.unix_ns);
  frame.captured_unix_ns = clock_.UnixNs();
  frame.subjects.assign(1, static_cast<std::uint32_t>(options_.tag));
  frame.features.clear();
  for (const int anchor : options_.anchors) frame.features.push_back(row.Range(anchor, options_.tag));
  return absl::OkStatus();
}

bool RangesSource::Complete(const scene::RangeRow& row) const {
  return std::all_of(options_.anchors.begin(), options_.anchors.end(),
                     [&](int anchor) { return std::isfinite(row.Range(anchor, options_.tag)); });
}

}  // namespace tributary::source
