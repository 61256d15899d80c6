#include "core/link/spool/backoff.h"

#include <algorithm>

namespace tributary::link {

std::int64_t Backoff::Next() {
  constexpr unsigned kMaxDoublings = 32;
  const unsigned doublings = std::min(attempts_++, kMaxDoublings);
  const std::int64_t ceiling =
      limits_.first_ns > (limits_.cap_ns >> doublings) ? limits_.cap_ns : limits_.first_ns << doublings;
  return std::uniform_int_distribution<std::int64_t>(ceiling / 2, ceiling)(random_);
}

}  // namespace tributary::link
