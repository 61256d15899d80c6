// How long to wait before the next attempt.
#pragma once

#include <cstdint>
#include <random>

namespace tributary::link {

// Doubles from attempt to attempt up to a cap. Each delay is random between 50 and 100 % of that, so the
// nodes of a site do not reconnect in step. One thread's.
class Backoff {
 public:
  struct Limits {
    std::int64_t first_ns;
    std::int64_t cap_ns;
  };

  Backoff(Limits limits, std::uint64_t seed) : limits_(limits), random_(seed) {}

  // The next delay, at most the cap.
  std::int64_t Next();
  // Call after a success: the next delay is the first one again.
  void Reset() { attempts_ = 0; }

 private:
  Limits limits_;
  std::mt19937_64 random_;
  unsigned attempts_ = 0;
};

}  // namespace tributary::link
