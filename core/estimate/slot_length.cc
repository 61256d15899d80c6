#include "core/estimate/slot_length.h"

#include <fmt/format.h>

#include <cmath>

namespace tributary::estimate {

std::optional<SlotLength> SlotLength::FromMs(double ms) {
  // Also false for NaN.
  if (!(ms >= 0 && ms <= kLongestMs)) return std::nullopt;
  return FromNs(static_cast<std::uint64_t>(std::llround(1e6 * ms)));
}

// The shortest digits that read back as the same number.
std::string SlotLength::Text() const { return fmt::format("{} ms", ms()); }

}  // namespace tributary::estimate
