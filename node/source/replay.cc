#include "node/source/replay.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "node/source/slot_stride.h"

namespace tributary::source {

absl::StatusOr<std::unique_ptr<ReplaySource>> ReplaySource::Create(parameters::NpyArray recording,
                                                                   const ReplayOptions& options,
                                                                   const runtime::Clock& clock) {
  if ((recording.shape.size() != 2 && recording.shape.size() != 3) || recording.values.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("replay needs an array [slots, width] or [slots, subjects, width], not [",
                     absl::StrJoin(recording.shape, ", "), "]"));
  }
  if (const auto stride = SlotStride(options.rate_hz, options.slot); !stride.ok()) return stride.status();
  return std::unique_ptr<ReplaySource>(new ReplaySource(std::move(recording), options, clock));
}

ReplaySource::ReplaySource(parameters::NpyArray recording, const ReplayOptions& options,
                           const runtime::Clock& clock)
    : recording_(std::move(recording)),
      options_(options),
      clock_(clock),
      stride_(*SlotStride(options.rate_hz, options.slot)),
      slots_(recording_.shape.front()),
      subjects_(recording_.shape.size() == 3 ? recording_.shape[1] : 1),
      width_(recording_.shape.back()) {}

absl::Status ReplaySource::Next(std::stop_token stop, SensorFrame& frame) {
  const estimate::Epoch now = options_.slot.EpochAt(clock_.UnixNs());
  const estimate::Epoch upcoming = (now / stride_ + 1) * stride_;
  // Without this, a clock that was set back would stop the panel until it has caught up.
  if (next_epoch_ == 0 || next_epoch_ > upcoming + stride_) next_epoch_ = upcoming;
  if (now > next_epoch_ + MaxLagSlots(stride_, options_.slot)) {
    const std::uint64_t skipped = (upcoming - next_epoch_) / stride_;
    missed_frames_ += skipped;
    played_ += skipped;
    next_epoch_ = upcoming;
  }
  if (!options_.loop && played_ >= slots_) return absl::OutOfRangeError("end of the recording");

  clock_.SleepUntil(options_.slot.StartNs(next_epoch_), stop);
  if (stop.stop_requested()) return absl::CancelledError("stopped");
  const std::size_t slot = options_.loop ? next_epoch_ / stride_ % slots_ : played_;
  ++played_;
  frame.epoch = next_epoch_;
  frame.captured_unix_ns = options_.slot.StartNs(next_epoch_);
  frame.subjects.resize(subjects_);
  for (std::size_t i = 0; i < subjects_; ++i) {
    frame.subjects[i] = options_.first_subject + static_cast<std::uint32_t>(i);
  }
  const auto values = recording_.values.begin() + static_cast<std::ptrdiff_t>(slot * subjects_ * width_);
  frame.features.assign(values, values + static_cast<std::ptrdiff_t>(subjects_ * width_));
  next_epoch_ += stride_;
  return absl::OkStatus();
}

}  // namespace tributary::source
