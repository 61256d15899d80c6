// When to try a lost or refused stream again.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "core/link/spool/backoff.h"

namespace tributary::link {

// A lost connection is retried soon. A refusal is retried slowly, since somebody must change a configuration
// or a certificate; a busy peer and one that does not know the call, too. One thread's.
class Reconnect {
 public:
  explicit Reconnect(std::uint64_t seed) : lost_link_(kLostLink, seed), refused_(kRefused, seed + 1) {}

  // Whether the same call may soon succeed: the connection was lost, or the peer is busy or starting.
  static bool MayPass(const absl::Status& error);
  // Whether the peer refuses this caller.
  static bool IsRefusal(const absl::Status& error);

  // Call when a stream has worked: the next delays are the first ones again.
  void Recovered();

  // How long to wait after a stream that ended with this error.
  std::int64_t DelayNs(const absl::Status& error);

 private:
  static constexpr Backoff::Limits kLostLink{20'000'000, 400'000'000};
  static constexpr Backoff::Limits kRefused{1'000'000'000, 30'000'000'000};

  Backoff lost_link_;
  Backoff refused_;
};

}  // namespace tributary::link
