#include "core/estimate/slot_length.h"

#include <array>
#include <charconv>
#include <cmath>

namespace tributary::estimate {

std::optional<SlotLength> SlotLength::FromMs(double ms) {
  // Also false for NaN.
  if (!(ms >= 0 && ms <= kLongestMs)) return std::nullopt;
  return FromNs(static_cast<std::uint64_t>(std::llround(1e6 * ms)));
}

// The shortest digits that read back as the same number.
std::string SlotLength::Text() const {
  std::array<char, 32> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), ms(), std::chars_format::fixed);
  return std::string(digits.data(), end.ptr) + " ms";
}

}  // namespace tributary::estimate
