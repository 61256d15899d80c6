#include "node/source/slot_pace.h"

#include <algorithm>

#include "core/estimate/slot_stride.h"
#include "core/status/macros.h"

namespace tributary::source {
namespace {

constexpr std::int64_t kMaxLagNs = 200'000'000;

}  // namespace

std::uint64_t MaxLagSlots(std::uint64_t stride, estimate::SlotLength slot) {
  return std::max<std::uint64_t>(slot.SlotsIn(kMaxLagNs), 2 * stride);
}

absl::StatusOr<SlotPace> SlotPace::Create(double rate_hz, estimate::SlotLength slot,
                                          const runtime::Clock& clock) {
  ASSIGN_OR_RETURN(const std::uint64_t stride, estimate::SlotStride(rate_hz, slot));
  return SlotPace(stride, slot, clock);
}

void SlotPace::CatchUp() {
  const estimate::Epoch now = slot_.EpochAt(clock_->UnixNs());
  const estimate::Epoch upcoming = (now / stride_ + 1) * stride_;
  // Without this, a clock that was set back would stop the panel until it has caught up.
  if (next_epoch_ == 0 || next_epoch_ > upcoming + stride_) next_epoch_ = upcoming;
  if (now <= next_epoch_ + MaxLagSlots(stride_, slot_)) return;
  missed_frames_ += (upcoming - next_epoch_) / stride_;
  next_epoch_ = upcoming;
}

absl::StatusOr<estimate::Epoch> SlotPace::Wait(const std::stop_token& stop) {
  const estimate::Epoch epoch = next_epoch_;
  clock_->SleepUntil(slot_.StartNs(epoch), stop);
  if (stop.stop_requested()) return absl::CancelledError("stopped");
  next_epoch_ += stride_;
  return epoch;
}

}  // namespace tributary::source
