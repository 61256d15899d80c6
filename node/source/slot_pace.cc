#include "node/source/slot_pace.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status/macros.h"

namespace tributary::source {
namespace {

constexpr double kMostDefaultHz = 2000;
constexpr double kTolerance = 1e-4;  // for rates that are written with a few decimals
constexpr std::int64_t kMaxLagNs = 200'000'000;

}  // namespace

double DefaultRateHz(estimate::SlotLength slot) {
  return slot.rate_hz() / std::max(1.0, std::ceil(slot.rate_hz() / kMostDefaultHz));
}

absl::StatusOr<std::uint64_t> SlotStride(double rate_hz, estimate::SlotLength slot) {
  const double stride = slot.rate_hz() / rate_hz;
  const double whole = std::round(stride);
  // False for NaN, too.
  if (whole >= 1 && whole <= static_cast<double>(kMaxStride) &&
      std::abs(stride - whole) <= kTolerance * whole) {
    return static_cast<std::uint64_t>(whole);
  }
  return absl::InvalidArgumentError(absl::StrCat("rate_hz: ", rate_hz, "; slots of ", slot.Text(), " allow ",
                                                 slot.rate_hz(), " divided by a whole number up to ",
                                                 kMaxStride));
}

std::uint64_t MaxLagSlots(std::uint64_t stride, estimate::SlotLength slot) {
  return std::max<std::uint64_t>(slot.SlotsIn(kMaxLagNs), 2 * stride);
}

absl::StatusOr<SlotPace> SlotPace::Create(double rate_hz, estimate::SlotLength slot,
                                          const runtime::Clock& clock) {
  ASSIGN_OR_RETURN(const std::uint64_t stride, SlotStride(rate_hz, slot));
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
