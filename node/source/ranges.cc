#include "node/source/ranges.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/macros.h"

namespace tributary::source {
namespace {

absl::Status CheckNumbers(const char* option, const std::vector<int>& numbers, std::size_t count) {
  for (const int number : numbers) {
    if (number < 0 || static_cast<std::size_t>(number) >= count) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, ": ", number, " is not one of 0 to ", count - 1));
    }
    if (std::ranges::count(numbers, number) != 1) {
      return absl::InvalidArgumentError(absl::StrCat(option, ": ", number, " is named twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const RangesSourceOptions& options, const scene::RangeRecording& recording) {
  if (options.anchors.empty()) return absl::InvalidArgumentError("anchors: none is named");
  RETURN_IF_ERROR(CheckNumbers("anchors", options.anchors, recording.anchors()));
  RETURN_IF_ERROR(CheckNumbers("tag", {options.tag}, recording.tags()));
  RETURN_IF_ERROR(CheckNumbers("tags", options.tags, recording.tags()));
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
  RangesSource(scene::RangeRecording recording, const RangesSourceOptions& options,
               const runtime::Clock& clock)
      : recording_(std::move(recording)),
        options_(options),
        clock_(clock),
        first_(recording_.RowAtFraction(options.start_fraction)),
        end_(recording_.RowAtFraction(options.end_fraction)),
        next_(first_),
        start_unix_ns_(options.start_unix_ns) {
    if (options_.tags.empty()) options_.tags = {options_.tag};
  }

  std::uint64_t missed_frames() const override { return missed_frames_; }

  absl::Status Next(std::stop_token stop, SensorFrame& frame) override {
    for (; next_ < end_ && !Usable(next_); ++next_) ++missed_frames_;
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    if (next_ == end_) return absl::OutOfRangeError("end of the recording");
    const std::int64_t unix_ns = recording_.unix_ns(next_);
    if (options_.speed > 0.0) {
      if (start_unix_ns_ == 0) start_unix_ns_ = clock_.UnixNs();
      const auto recorded_ns = static_cast<double>(unix_ns - recording_.unix_ns(first_));
      clock_.SleepUntil(start_unix_ns_ + static_cast<std::int64_t>(recorded_ns / options_.speed), stop);
      if (stop.stop_requested()) return absl::CancelledError("stopped");
    }
    frame.epoch = options_.slot.EpochAt(unix_ns);
    frame.captured_unix_ns = clock_.UnixNs();
    frame.subjects.assign(1, static_cast<std::uint32_t>(options_.tag));
    frame.features.clear();
    for (const int anchor : options_.anchors) {
      for (const int tag : options_.tags) frame.features.push_back(Range(next_, anchor, tag));
    }
    ++next_;
    return absl::OkStatus();
  }

 private:
  float Range(std::size_t row, int anchor, int tag) const {
    return recording_.Range(row, static_cast<std::size_t>(anchor), static_cast<std::size_t>(tag));
  }

  bool Usable(std::size_t row) const {
    std::size_t missing = 0;
    for (const int anchor : options_.anchors) {
      for (const int tag : options_.tags) missing += std::isfinite(Range(row, anchor, tag)) ? 0 : 1;
    }
    return missing == 0 || (!options_.complete && missing < options_.anchors.size() * options_.tags.size());
  }

  const scene::RangeRecording recording_;
  RangesSourceOptions options_;
  const runtime::Clock& clock_;
  const std::size_t first_;
  const std::size_t end_;
  std::size_t next_;
  std::int64_t start_unix_ns_;
  std::uint64_t missed_frames_ = 0;  // rows that lack ranges
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> CreateRanges(scene::RangeRecording recording,
                                                     const RangesSourceOptions& options,
                                                     const runtime::Clock& clock) {
  RETURN_IF_ERROR(CheckOptions(options, recording));
  if (recording.size() == 0) return absl::InvalidArgumentError("a recording without rows");
  return std::make_unique<RangesSource>(std::move(recording), options, clock);
}

}  // namespace tributary::source
