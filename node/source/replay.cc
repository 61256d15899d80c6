#include "node/source/replay.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tributary {
namespace {

constexpr double kSlotRateHz = 1e9 / static_cast<double>(kSlotNs);
constexpr std::uint64_t kMaxStride = 2000;  // one slot per second

// 0 if the rate is no whole fraction of the slots' rate.
std::uint64_t StrideOf(double rate_hz) {
  const double stride = kSlotRateHz / rate_hz;
  if (!(stride >= 1.0 && stride <= static_cast<double>(kMaxStride))) return 0;
  const double whole = std::round(stride);
  return std::abs(stride - whole) < 1e-9 * whole ? static_cast<std::uint64_t>(whole) : 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReplaySource>> ReplaySource::Create(NpyArray recording,
                                                                   const ReplayOptions& options,
                                                                   const Clock& clock) {
  if ((recording.shape.size() != 2 && recording.shape.size() != 3) || recording.values.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("replay needs an array [slots, width] or [slots, subjects, width], not [",
                     absl::StrJoin(recording.shape, ", "), "]"));
  }
  if (StrideOf(options.rate_hz) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("rate_hz: ", options.rate_hz, "; 2000 divided by a whole number up to 2000 is allowed"));
  }
  return std::unique_ptr<ReplaySource>(new ReplaySource(std::move(recording), options, clock));
}

ReplaySource::ReplaySource(NpyArray recording, const ReplayOptions& options, const Clock& clock)
    : recording_(std::move(recording)),
      options_(options),
      clock_(clock),
      stride_(StrideOf(options.rate_hz)),
      slots_(recording_.shape.front()),
      subjects_(recording_.shape.size() == 3 ? recording_.shape[1] : 1),
      width_(recording_.shape.back()) {}

absl::Status ReplaySource::Next(std::stop_token stop, SensorFrame& frame) {
  const Epoch now = EpochAt(clock_.UnixNs());
  const Epoch upcoming = (now / stride_ + 1) * stride_;
  // A clock that was set back would otherwise stop the panel until it has caught up.
  if (next_epoch_ == 0 || next_epoch_ > upcoming + stride_) next_epoch_ = upcoming;
  if (now > next_epoch_ + std::max(kMaxLagSlots, 2 * stride_)) {
    const std::uint64_t skipped = (upcoming - next_epoch_) / stride_;
    missed_frames_ += skipped;
    played_ += skipped;
    next_epoch_ = upcoming;
  }
  if (!options_.loop && played_ >= slots_) return absl::OutOfRangeError("end of the recording");

  clock_.SleepUntil(EpochStartNs(next_epoch_), stop);
  if (stop.stop_requested()) return absl::CancelledError("stopped");
  const std::size_t slot = options_.loop ? next_epoch_ / stride_ % slots_ : played_;
  ++played_;
  frame.epoch = next_epoch_;
  frame.captured_unix_ns = EpochStartNs(next_epoch_);
  frame.subjects.resize(subjects_);
  for (std::size_t i = 0; i < subjects_; ++i) {
    frame.subjects[i] = options_.first_subject + static_cast<std::uint32_t>(i);
  }
  const auto values = recording_.values.begin() + static_cast<std::ptrdiff_t>(slot * subjects_ * width_);
  frame.features.assign(values, values + static_cast<std::ptrdiff_t>(subjects_ * width_));
  next_epoch_ += stride_;
  return absl::OkStatus();
}

}  // namespace tributary
