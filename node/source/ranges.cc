#include "node/source/ranges.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/macros.h"

namespace tributary::source {
namespace {

absl::Status CheckOptions(const RangesSourceOptions& options) {
  for (const int anchor : options.anchors) {
    if (anchor < 0 || anchor >= scene::kAnchors) {
      return absl::InvalidArgumentError(
          absl::StrCat("anchors: ", anchor, " is not one of 0 to ", scene::kAnchors - 1));
    }
    if (std::ranges::count(options.anchors, anchor) != 1) {
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

class RangesSource final : public Source {
 public:
  RangesSource(std::vector<scene::RangeRow> rows, const RangesSourceOptions& options,
               const runtime::Clock& clock)
      : rows_(std::move(rows)),
        options_(options),
        clock_(clock),
        first_(RowAtFraction(rows_, options.start_fraction)),
        end_(RowAtFraction(rows_, options.end_fraction)),
        next_(first_),
        start_unix_ns_(options.start_unix_ns) {}

  std::uint64_t missed_frames() const override { return missed_frames_; }

  absl::Status Next(std::stop_token stop, SensorFrame& frame) override {
    for (; next_ < end_ && !Complete(rows_[next_]); ++next_) ++missed_frames_;
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    if (next_ == end_) return absl::OutOfRangeError("end of the recording");
    const scene::RangeRow& row = rows_[next_];
    if (options_.speed > 0.0) {
      if (start_unix_ns_ == 0) start_unix_ns_ = clock_.UnixNs();
      const auto recorded_ns = static_cast<double>(row.unix_ns - rows_[first_].unix_ns);
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

 private:
  bool Complete(const scene::RangeRow& row) const {
    return std::ranges::all_of(options_.anchors,
                               [&](int anchor) { return std::isfinite(row.Range(anchor, options_.tag)); });
  }

  const std::vector<scene::RangeRow> rows_;
  const RangesSourceOptions options_;
  const runtime::Clock& clock_;
  const std::size_t first_;
  const std::size_t end_;
  std::size_t next_;
  std::int64_t start_unix_ns_;
  std::uint64_t missed_frames_ = 0;  // rows without one of the three ranges
};

}  // namespace

std::size_t RowAtFraction(const std::vector<scene::RangeRow>& rows, double fraction) {
  if (fraction >= 1.0) return rows.size();
  const std::int64_t start = rows.front().unix_ns;
  const auto length = static_cast<double>(rows.back().unix_ns - start);
  const std::int64_t time = start + static_cast<std::int64_t>(fraction * length);
  return static_cast<std::size_t>(std::ranges::lower_bound(rows, time, {}, &scene::RangeRow::unix_ns) -
                                  rows.begin());
}

absl::StatusOr<std::unique_ptr<Source>> CreateRanges(std::vector<scene::RangeRow> rows,
                                                     const RangesSourceOptions& options,
                                                     const runtime::Clock& clock) {
  RETURN_IF_ERROR(CheckOptions(options));
  if (rows.empty()) return absl::InvalidArgumentError("a recording without rows");
  return std::make_unique<RangesSource>(std::move(rows), options, clock);
}

}  // namespace tributary::source
