#include "core/estimate/slot_stride.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace tributary::estimate {
namespace {

constexpr double kMostDefaultHz = 2000;
constexpr double kTolerance = 1e-4;  // for rates that are written with a few decimals

}  // namespace

double DefaultRateHz(SlotLength slot) {
  return slot.rate_hz() / std::max(1.0, std::ceil(slot.rate_hz() / kMostDefaultHz));
}

absl::StatusOr<std::uint64_t> SlotStride(double rate_hz, SlotLength slot) {
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

}  // namespace tributary::estimate
