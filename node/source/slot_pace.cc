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

estimate::Epoch SlotPace::After(estimate::Epoch epoch) const { return (epoch / stride_ + 1) * stride_; }

bool SlotPace::FollowBack(estimate::Epoch now) {
  const estimate::Epoch upcoming = After(now);
  if (next_epoch_ <= upcoming + stride_) return false;
  next_epoch_ = upcoming;
  return true;
}

void SlotPace::CatchUp() {
  const estimate::Epoch now = slot_.EpochAt(clock_->UnixNs());
  const estimate::Epoch upcoming = After(now);
  if (next_epoch_ == 0) next_epoch_ = upcoming;
  if (FollowBack(now) || now <= next_epoch_ + MaxLagSlots(stride_, slot_)) return;
  missed_frames_ += (upcoming - next_epoch_) / stride_;
  next_epoch_ = upcoming;
}

absl::StatusOr<estimate::Epoch> SlotPace::Wait(const std::stop_token& stop) {
  do {
    clock_->SleepUntil(slot_.StartNs(next_epoch_), stop);
    if (stop.stop_requested()) return absl::CancelledError("stopped");
  } while (FollowBack(slot_.EpochAt(clock_->UnixNs())));
  const estimate::Epoch epoch = next_epoch_;
  next_epoch_ += stride_;
  return epoch;
}

}  // namespace tributary::source
