#include "aggregator/fusion/refusal.h"

#include <array>

namespace tributary::fusion {

std::string_view RefusalReasonName(RefusalReason reason) {
  static constexpr std::array<std::string_view, kRefusalReasons> kNames = {
      "unspecified",  "shape",     "not_finite", "not_positive", "unknown_source", "epoch_past",
      "epoch_future", "duplicate", "late",       "gated",        "too_large",      "duplicate_subject"};
  return kNames[static_cast<std::size_t>(reason)];
}

}  // namespace tributary::fusion
