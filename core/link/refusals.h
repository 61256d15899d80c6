// Counts refusals of the aggregator by reason, and logs them with a rate limit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/link/spool/spool.h"
#include "core/runtime/mutex.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::link {

inline constexpr std::size_t kRefusalReasonCount = v1::RefusalReason_ARRAYSIZE;

struct RefusalCounters {
  // Indexed by v1::RefusalReason; unknown reasons (a newer peer) count as unspecified.
  std::array<std::uint64_t, kRefusalReasonCount> frames = {};
  std::array<std::uint64_t, kRefusalReasonCount> tuples = {};  // of refused frames, and single ones
  // Duplicates: sent again after a reconnect although the first copy had arrived. Refused, but not lost.
  std::uint64_t resent_duplicate_frames = 0;
  std::uint64_t resent_duplicate_tuples = 0;
};

// Thread-safe.
class Refusals {
 public:
  // `frame` is what the spool still holds of it. Returns true if the caller should log the refusal: at most
  // one in ten seconds for each reason.
  bool Count(const v1::Refusal& refusal, const std::optional<Spool::HeldFrame>& frame,
             std::int64_t now_steady_ns);

  RefusalCounters counters() const;

 private:
  mutable runtime::Mutex mutex_;
  RefusalCounters counters_ GUARDED_BY(mutex_);
  std::array<std::int64_t, kRefusalReasonCount> next_log_ns_ GUARDED_BY(mutex_) = {};
};

}  // namespace tributary::link
