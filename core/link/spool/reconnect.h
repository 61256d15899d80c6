// How long to wait before the next attempt.
#pragma once

#include <cstdint>
#include <random>

#include "absl/status/status.h"

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

// A lost connection is retried soon. A refusal is retried slowly, since somebody must change a configuration
// or a certificate; a busy peer and one that does not know the call, too. One thread's.
class Reconnect {
 public:
  explicit Reconnect(std::uint64_t seed) : lost_link_(kLostLink, seed), refused_(kRefused, seed + 1) {}

  // Whether the same call may soon succeed: the connection was lost, or the peer is busy or starting.
  static bool MayPass(const absl::Status& error);
  // Whether the peer refuses this caller.
  static bool IsRefusal(const absl::Status& error);

  // Call when a call or stream has worked: the next delays are the first ones again.
  void Recovered();
  // After a stream that was answered and lasted this long. A short one counts as a failed attempt: a peer
  // that answers and hangs up would else be called without a pause.
  void Lasted(std::int64_t ns) {
    if (ns >= kGoodStreamNs) Recovered();
  }

  // How long to wait after a stream that ended with this error.
  std::int64_t DelayNs(const absl::Status& error);

 private:
  static constexpr std::int64_t kGoodStreamNs = 2'000'000'000;
  static constexpr Backoff::Limits kLostLink{20'000'000, 400'000'000};
  static constexpr Backoff::Limits kRefused{1'000'000'000, 30'000'000'000};

  Backoff lost_link_;
  Backoff refused_;
};

}  // namespace tributary::link
