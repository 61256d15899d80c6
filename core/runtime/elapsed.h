// Differences of times that a peer may have told.
#pragma once

#include <cstdint>
#include <limits>

namespace tributary::runtime {

// From one time to another, negative if `to_ns` is the earlier one. A difference beyond int64 becomes the
// largest or the smallest number.
constexpr std::int64_t ElapsedNs(std::int64_t from_ns, std::int64_t to_ns) {
  std::int64_t elapsed_ns = 0;
  if (!__builtin_sub_overflow(to_ns, from_ns, &elapsed_ns)) return elapsed_ns;
  using Time = std::numeric_limits<std::int64_t>;
  return from_ns < 0 ? Time::max() : Time::min();
}

// The same in seconds.
constexpr double ElapsedSeconds(std::int64_t from_ns, std::int64_t to_ns) {
  return 1e-9 * static_cast<double>(ElapsedNs(from_ns, to_ns));
}

}  // namespace tributary::runtime
